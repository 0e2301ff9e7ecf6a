// The keeper's part in attempts: which are under way.

#include "lease/attempt.h"

#include "base/mutex.h"
#include "lease/lease_keeper.h"

namespace holdfast::lease {

Attempt::Attempt(Attempt&& other) noexcept
    : Attempt(*other.keeper_, *other.name_, other.owner_, other.kind_) {
  if (other.under_way_) keeper_->move(other, *this);
}

bool Attempt::begin() { return keeper_->begin(*this); }

void Attempt::begin_beside() { keeper_->begin_beside(*this); }

void Attempt::end() {
  if (under_way_) keeper_->end(*this);
}

bool LeaseKeeper::begin(Attempt& attempt) {
  const MutexLock guard(mutex_);
  if (!admits(attempt)) return false;
  enter(attempt);
  return true;
}

bool LeaseKeeper::admits(const Attempt& attempt) const {
  return !attempt.alone() || !attempts_.any(*attempt.name_, attempt.owner_);
}

void LeaseKeeper::begin_beside(Attempt& attempt) {
  const MutexLock guard(mutex_);
  enter(attempt);
}

void LeaseKeeper::end(Attempt& attempt) {
  const MutexLock guard(mutex_);
  leave(attempt);
  tell_idle();
}

void LeaseKeeper::move(Attempt& from, Attempt& to) {
  const MutexLock guard(mutex_);
  leave(from);
  enter(to);
}

void LeaseKeeper::enter(Attempt& attempt) {
  if (attempt.alone()) attempts_.add(attempt);
  if (attempt.counted()) ++acquisitions_;
  attempt.under_way_ = true;
}

void LeaseKeeper::leave(Attempt& attempt) {
  if (attempt.alone()) Attempts::remove(attempt);
  if (attempt.counted()) --acquisitions_;
  attempt.under_way_ = false;
}

bool LeaseKeeper::under_way(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex_);
  return attempts_.any(name, owner);
}

}  // namespace holdfast::lease
