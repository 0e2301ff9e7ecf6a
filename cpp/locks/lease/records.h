#pragma once

#include <memory>

#include "locks/lease/hold.h"

namespace holdfast::lease {

// A client's records of its holds for a guard, if it has one. Not thread-safe: see Keeper.
class Records {
 public:
  using Id = HeldRecords::Id;

  // Null: there is no guard, or the client is closed. Set once, before the first attempt.
  std::shared_ptr<HeldRecords> kept;

  // An attempt may be granted that hold, at most until `until`.
  void expect(Id& record, const LockName& name, OwnerNumber owner, const Renewal& kind,
              TimePoint until) const {
    if (!kept) return;
    const bool known = record != 0 && kept->set_until(record, until);
    if (!known) record = kept->add(name, owner, kind, until);
  }
  // The attempt with that record was granted the hold.
  void granted(Hold& hold, Id record) const {
    if (!kept) return;
    // The release by a record would not keep it closed.
    const bool stays_closed = hold.closed_until() > TimePoint{};
    if (hold.record == 0 && !stays_closed) {
      hold.record = record;
    } else {
      kept->remove(record);
    }
    stays_closed ? end(hold.record) : keep(hold);
  }
  // The lease of the hold was set.
  void renew(Hold& hold) const {
    if (hold.record != 0) keep(hold);
  }
  void end(Id& record) const {
    if (record != 0 && kept) kept->remove(record);
    record = 0;
  }

 private:
  void keep(Hold& hold) const {
    expect(hold.record, hold.name, hold.owner, *hold.renewal, hold.set_until);
  }
};

}  // namespace holdfast::lease
