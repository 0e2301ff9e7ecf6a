#pragma once

#include <memory>
#include <utility>

#include "locks/lease/hold.h"

namespace holdfast::lease {

// What a client records of its holds for a guard, if it has one. Not thread-safe: see Keeper.
class Records {
 public:
  using Id = HeldRecords::Id;

  // Once, before the first attempt.
  void set(std::shared_ptr<HeldRecords> kept) { kept_ = std::move(kept); }
  // The client is closed.
  void close() { kept_.reset(); }

  // An attempt may be granted that hold, at most until `until`.
  void expect(Id& record, const LockName& name, OwnerNumber owner, const Renewal& kind,
              TimePoint until) const {
    if (!kept_) return;
    const bool known = record != 0 && kept_->set_until(record, until);
    if (!known) record = kept_->add(name, owner, kind, until);
  }
  // The attempt with that record was granted the hold.
  void granted(Hold& hold, Id record) const {
    if (!kept_) return;
    // The release by a record would not keep it closed.
    const bool stays_closed = hold.closed_until() > TimePoint{};
    if (hold.record == 0 && !stays_closed) {
      hold.record = record;
    } else {
      kept_->remove(record);
    }
    stays_closed ? end(hold.record) : keep(hold);
  }
  // The lease of the hold was set.
  void renew(Hold& hold) const {
    if (hold.record != 0) keep(hold);
  }
  void end(Id& record) const {
    if (record != 0 && kept_) kept_->remove(record);
    record = 0;
  }

 private:
  void keep(Hold& hold) const {
    expect(hold.record, hold.name, hold.owner, *hold.renewal, hold.set_until);
  }

  std::shared_ptr<HeldRecords> kept_;
};

}  // namespace holdfast::lease
