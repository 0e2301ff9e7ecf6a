#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "lease/hold_book.h"
#include "lease/releases.h"

namespace holdfast::lease {

// The holds of one client whose leases or fields their owners change: extensions, and detaching. A
// part of its LeaseKeeper. Thread-safe.
class Transfers {
 public:
  explicit Transfers(HoldBook& book) : book_(book) {}

  // The hold is to be given the field of a ticket, with another lease, and ends here then: see
  // sync/operation/transfer_operation.h. From now on (even if it fails) it is not renewed, and is
  // trusted for the shorter one of both leases; a release gives it back under either field. The
  // verdict: kFinal, and the field is in `other`; kNotOwned, kLost.
  ReleasePlan begin_detach(const LockName& name, OwnerNumber owner, Millis lease)
      HOLDFAST_EXCLUDES(book_.mutex);
  // Its caller gets the ticket: the hold ends. False: it has been lost.
  bool end_detach(const LockName& name, OwnerNumber owner) HOLDFAST_EXCLUDES(book_.mutex);
  // What a ticket has to contain of a hold whose detach was begun; nothing when it is not held.
  struct Detached {
    std::string field;
    std::optional<std::int64_t> token;
    Millis lease;
    Millis minimum;  // that the lock is to stay closed, from the beginning of the detaching
  };
  std::optional<Detached> detached(const LockName& name, OwnerNumber owner) const
      HOLDFAST_EXCLUDES(book_.mutex);

  // A new fixed lease is about to be requested: from now on the hold is not renewed, and until the
  // answer is there, the shorter one of both leases counts. The number of the extension; 0: none
  // is begun, as the hold is not there, or is being detached.
  std::uint32_t begin_extension(const LockName& name, OwnerNumber owner, Millis lease)
      HOLDFAST_EXCLUDES(book_.mutex);
  // The lease was set by a command sent at `sent`. When another extension has begun since, which
  // may have been executed, too, the shorter one counts still.
  struct Extension {
    std::uint32_t number;
    Millis lease;
  };
  void extended(const LockName& name, OwnerNumber owner, const Extension& extension, TimePoint sent)
      HOLDFAST_EXCLUDES(book_.mutex);

 private:
  void leave_to_lease(Hold& hold, Millis lease, TimePoint now) HOLDFAST_REQUIRES(book_.mutex);

  HoldBook& book_;
};

}  // namespace holdfast::lease
