#include "lease/hold_table.h"

#include "lease/hold_record.h"

namespace holdfast::lease {

namespace {

constexpr std::size_t kMostLosses = 10'000;

std::uint64_t hash_of(OwnerNumber owner) { return static_cast<std::uint64_t>(owner); }

std::uint64_t hash_of(const LockName& name, OwnerNumber owner) {
  return name.hash() * 31 + hash_of(owner);
}

bool any(std::size_t /*count*/) { return true; }  // a hash is one owner's

}  // namespace

Hold* HoldTable::find(const LockName& name, OwnerNumber owner) const {
  Hold* const* const found = holds_.find(hash_of(name, owner), [&](const Hold* hold) {
    return hold->owner == owner && hold->name == name;
  });
  return found == nullptr ? nullptr : *found;
}

bool HoldTable::has(OwnerNumber owner) const {
  return counts_.find(hash_of(owner), &any) != nullptr;
}

std::vector<HoldPtr> HoldTable::of(OwnerNumber owner) const {
  std::vector<HoldPtr> holds;
  if (!has(owner)) return holds;
  for (Hold* const hold : holds_) {
    if (hold->owner == owner) holds.emplace_back(hold);
  }
  return holds;
}

void HoldTable::insert(Hold& hold) {
  holds_.add(hash_of(hold.name, hold.owner), &hold);
  add_reference(hold);
  std::size_t* const count = counts_.find(hash_of(hold.owner), &any);
  if (count != nullptr) {
    ++*count;
  } else {
    counts_.add(hash_of(hold.owner), 1);
  }
}

Hold& HoldTable::add(const HoldPtr& hold) {
  forget_old_losses();
  hold->serial = ++serials_;
  insert(*hold);
  return *hold;
}

void HoldTable::put_back(const HoldPtr& hold) {
  forget_old_losses();
  insert(*hold);
}

HoldPtr HoldTable::take(Hold& hold) {
  tracked.remove(hold);
  std::size_t* const count = counts_.find(hash_of(hold.owner), &any);
  if (--*count == 0) counts_.erase(count);
  holds_.erase(holds_.find(hash_of(hold.name, hold.owner),
                           [&](const Hold* other) { return other == &hold; }));
  HoldPtr taken(&hold);
  drop_reference(hold);
  return taken;
}

void HoldTable::erase(Hold& hold) {
  const HoldPtr taken = take(hold);
  taken->stop_renewing();
  taken->serial = 0;
}

void HoldTable::forget_old_losses() {
  while (losses_.size() > kMostLosses) {
    const HoldPtr hold = std::move(losses_.front());
    losses_.pop_front();
    const bool here = hold->serial != 0 && find(hold->name, hold->owner) == hold.get();
    if (here && hold->state == HoldState::kLost) erase(*hold);
  }
}

void HoldTable::clear() {
  tracked.clear();
  for (Hold* const hold : holds_) drop_reference(*hold);
  holds_.clear();
  counts_.clear();
  losses_.clear();
}

}  // namespace holdfast::lease
