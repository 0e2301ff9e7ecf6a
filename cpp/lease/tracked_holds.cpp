#include "lease/tracked_holds.h"

#include <utility>

#include "lease/hold_record.h"

namespace holdfast::lease {

void TrackedHolds::add(Hold& hold, const std::vector<std::string>& keys) {
  hold.tracked.reserve(keys.size());
  for (const std::string& key : keys) hold.tracked.push_back(by_key_.emplace(key, &hold));
  ++holds_;
}

void TrackedHolds::remove(Hold& hold) {
  if (hold.tracked.empty()) return;
  for (const ByKey::iterator& place : hold.tracked) by_key_.erase(place);
  hold.tracked = {};
  --holds_;
}

std::vector<Hold*> TrackedHolds::take(const client::Changes& changes) {
  std::vector<Hold*> taken;
  const auto take_first_of = [&](ByKey::iterator place) {
    taken.push_back(place->second);
    remove(*place->second);
  };
  while (changes.all && !by_key_.empty()) take_first_of(by_key_.begin());
  for (const std::string& key : changes.keys) {
    for (auto at = by_key_.find(key); at != by_key_.end(); at = by_key_.find(key)) {
      take_first_of(at);
    }
  }
  return taken;
}

void TrackedHolds::clear() {
  while (!by_key_.empty()) remove(*by_key_.begin()->second);
}

}  // namespace holdfast::lease
