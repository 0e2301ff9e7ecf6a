// Who holds what, and how: the part of LeaseKeeper that only answers.

#include "base/mutex.h"
#include "lease/hold_record.h"
#include "lease/lease_keeper.h"

namespace holdfast::lease {

namespace {
constexpr std::size_t kMostEnded = 100;
}  // namespace

void LeaseKeeper::remember_ended(const Hold& hold, const std::string& what) {
  if (ended_.size() == kMostEnded) ended_.pop_front();
  ended_.push_back({hold.name, {hold.owner, what}, hold.set_until});
}

std::vector<Lease> LeaseKeeper::levels(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex_);
  const Hold* hold = find(name, owner);
  std::vector<Lease> leases;
  if (hold == nullptr || !hold->trusted_at(clock_.now())) return leases;
  for (int level = 0; level < hold->levels.count(); ++level) {
    const bool renewed = hold->levels.renewed_at(level);
    leases.push_back({renewed ? hold->lease : hold->fixed_lease, renewed});
  }
  return leases;
}

std::vector<LeaseKeeper::Holder> LeaseKeeper::holders(const LockName& name) const {
  const MutexLock guard(mutex_);
  const TimePoint now = clock_.now();
  std::vector<Holder> holders;
  for (const auto& [key, hold] : holds_) {
    if (hold->name == name && hold->trusted_at(now)) holders.push_back({hold->owner, {}});
  }
  for (const Ended& ended : ended_) {
    if (ended.name == name && now < ended.until) holders.push_back(ended.holder);
  }
  return holders;
}

}  // namespace holdfast::lease
