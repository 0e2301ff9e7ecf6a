#include "lease/hold_table.h"

#include <functional>
#include <utility>

#include "lease/hold_record.h"

namespace holdfast::lease {

namespace {
constexpr std::size_t kMostLosses = 10'000;
}  // namespace

std::size_t HoldTable::KeyHash::operator()(const Key& key) const {
  return std::hash<std::string_view>()(key.name) * 31 + static_cast<std::size_t>(key.owner);
}

Hold* HoldTable::find(const LockName& name, OwnerNumber owner) const {
  const auto found = holds_.find(Key(name, owner));
  return found == holds_.end() ? nullptr : found->second.get();
}

std::vector<HoldTable::HoldPtr> HoldTable::of(OwnerNumber owner) const {
  std::vector<HoldPtr> holds;
  if (!has(owner)) return holds;
  for (const auto& [key, hold] : holds_) {
    if (key.owner == owner) holds.push_back(hold);
  }
  return holds;
}

void HoldTable::insert(const HoldPtr& hold) {
  holds_.emplace(Key(hold->name, hold->owner), hold);
  ++counts_[hold->owner];
}

Hold& HoldTable::add(const HoldPtr& hold) {
  forget_old_losses();
  hold->serial = ++serials_;
  insert(hold);
  return *hold;
}

void HoldTable::put_back(const HoldPtr& hold) {
  forget_old_losses();
  insert(hold);
}

HoldTable::HoldPtr HoldTable::take(Hold& hold) {
  tracked.remove(hold);
  const auto count = counts_.find(hold.owner);
  if (--count->second == 0) counts_.erase(count);
  const auto found = holds_.find(Key(hold.name, hold.owner));
  HoldPtr taken = std::move(found->second);
  holds_.erase(found);
  return taken;
}

void HoldTable::erase(Hold& hold) {
  const HoldPtr taken = take(hold);
  taken->stop_renewing();
  taken->serial = 0;
}

void HoldTable::forget_old_losses() {
  while (losses_.size() > kMostLosses) {
    const HoldPtr hold = losses_.front().lock();
    losses_.pop_front();
    if (hold && hold->serial != 0 && hold->state == HoldState::kLost) erase(*hold);
  }
}

void HoldTable::clear() {
  tracked.clear();
  holds_.clear();
  counts_.clear();
  losses_.clear();
}

}  // namespace holdfast::lease
