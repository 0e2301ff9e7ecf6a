#include "support/keyspace.h"

namespace holdfast::simulation {

Keyspace::Entry* Keyspace::find(const std::string& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  if (!found->second.expires || milliseconds() <= *found->second.expires) return &found->second;
  entries_.erase(found);
  return nullptr;
}

std::int64_t Keyspace::pttl(const std::string& key) {
  const Entry* entry = find(key);
  if (entry == nullptr) return -2;
  return entry->expires ? *entry->expires - milliseconds() : -1;
}

bool Keyspace::erase(const std::string& key) {
  if (find(key) == nullptr) return false;
  entries_.erase(key);
  return true;
}

std::vector<std::string> Keyspace::keys() {
  std::vector<std::string> all;
  for (auto at = entries_.begin(); at != entries_.end();) {
    const std::string& key = (at++)->first;
    if (find(key) != nullptr) all.push_back(key);
  }
  return all;
}

}  // namespace holdfast::simulation
