#pragma once

#include <cstdint>

#include "base/types.h"

namespace holdfast::lease {

class Renewal;

// Where a client keeps a record of every hold that the server may have of it, for a guard process,
// which releases them after the program's death. A record that is left ends at its moment. Called
// with the keeper's lock held; makes no system call.
class HeldRecords {
 public:
  // 0: no record, on which the other calls have no effect.
  using Id = std::uint64_t;

  virtual ~HeldRecords() = default;

  // The owner may have it from now on, at most until `until`. 0: there is no room for it.
  virtual Id add(const LockName& name, OwnerNumber owner, const Renewal& kind, TimePoint until) = 0;
  // False: the record had ended, and its room is taken back.
  virtual bool set_until(Id record, TimePoint until) = 0;
  virtual void remove(Id record) = 0;
};

}  // namespace holdfast::lease
