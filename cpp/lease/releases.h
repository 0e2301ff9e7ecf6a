#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "lease/hold_book.h"
#include "lease/release_plan.h"

namespace holdfast::lease {

// The releases of one client: what each has to do, and what has become of it. A last release moves
// its hold from the table into the ledger, which has it until the server has answered. A part of
// the client's LeaseKeeper. Thread-safe.
class Releases {
 public:
  using Caller = ReleaseLedger::Caller;
  using Command = ReleaseLedger::Command;
  using Serial = ReleaseLedger::Serial;

  explicit Releases(HoldBook& book) : book_(book) {}

  // The first half of a release: a last one ends the hold and enters the ledger with its command,
  // which is about to be sent (null: resume() follows). `all`: all holds of the owner at once.
  ReleasePlan begin(const LockName& name, OwnerNumber owner, bool all, Command command = {},
                    Caller caller = Caller::kAwaits) HOLDFAST_EXCLUDES(book_.mutex);
  // The same of the hold of a `with` block that ends. Of one that lost its grant: kLost, and
  // nothing is released.
  ReleasePlan end_block(const LockName& name, OwnerNumber owner, Command command = {},
                        Caller caller = Caller::kAwaits) HOLDFAST_EXCLUDES(book_.mutex);
  // The same of what no caller has got: also while the owner is acquiring it.
  ReleasePlan begin_giving_back(const LockName& name, OwnerNumber owner, bool all)
      HOLDFAST_EXCLUDES(book_.mutex);
  // The same, of all holds, for another than the owner; nothing if its owner has begun to release.
  std::optional<ReleasePlan> begin_of_held(const LockName& name, OwnerNumber owner)
      HOLDFAST_EXCLUDES(book_.mutex);
  // The second half, after the server has answered.
  void done(const LockName& name, OwnerNumber owner, const ReleasePlan& plan)
      HOLDFAST_EXCLUDES(book_.mutex);
  // The same where the owner's field was not there: the hold is lost, which this release reports.
  void found_nothing(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                     const std::string& reason) HOLDFAST_EXCLUDES(book_.mutex);

  // The caller of that last release leaves without waiting for the answer: from now on its end is
  // posted (Event::kLostAfterRelease, kReleased, kUnreleased), and another release of the owner's
  // finds nothing. The hold, for the plan.
  HoldPtr defer(const LockName& name, OwnerNumber owner, Serial serial)
      HOLDFAST_EXCLUDES(book_.mutex);
  // Posts what has gone wrong with a deferred release, unless its owner has the lock again.
  void report_trouble(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                      const std::string& reason) HOLDFAST_EXCLUDES(book_.mutex);

  // What an attempt may have been granted is about to be taken back by `command`, at most until
  // `until`. The entry's serial number; 0: the client is closed.
  Serial take_back(const LockName& name, OwnerNumber owner, Command command, TimePoint until)
      HOLDFAST_EXCLUDES(book_.mutex);
  // Another command goes on with a release. Until when; nothing when the release of that number is
  // over, or was taken over: then it must not be sent.
  std::optional<TimePoint> resume(const LockName& name, OwnerNumber owner, Serial serial,
                                  Command command) HOLDFAST_EXCLUDES(book_.mutex);
  // No caller knows of the hold that is being released: the owner's next release does not report
  // it.
  void forget_caller(const LockName& name, OwnerNumber owner, Serial serial)
      HOLDFAST_EXCLUDES(book_.mutex);
  // How a release ended that its command has gone on with by itself; the owner's next release
  // reports it.
  enum class End {
    kDone,     // the server has answered
    kRefused,  // it refuses for good
    kExpired,  // the lease was over first
  };
  // `why`: of kRefused.
  void ended(const LockName& name, OwnerNumber owner, Serial serial, End how,
             const std::string& why = {}) HOLDFAST_EXCLUDES(book_.mutex);

  // The hold is left to its lease, which may be set anew to `lease`, without a release.
  void leave_to_lease(const LockName& name, OwnerNumber owner, Millis lease)
      HOLDFAST_EXCLUDES(book_.mutex);

 private:
  using Entry = ReleaseLedger::Entry;

  ReleasePlan begin_any(const LockName& name, OwnerNumber owner, bool all, Command command,
                        Caller caller) HOLDFAST_REQUIRES(book_.mutex);
  std::optional<std::string> close_block(const LockName& name, OwnerNumber owner, Hold* hold)
      HOLDFAST_REQUIRES(book_.mutex);
  ReleasePlan begin_with(Hold& hold, bool all, Command command, Caller caller)
      HOLDFAST_REQUIRES(book_.mutex);
  ReleasePlan plan_pending(const LockName& name, OwnerNumber owner, Command& command)
      HOLDFAST_REQUIRES(book_.mutex);
  Serial enter(Hold& hold, Command command, Caller caller) HOLDFAST_REQUIRES(book_.mutex);
  void lose(const HoldPtr& hold, const std::string& reason) HOLDFAST_REQUIRES(book_.mutex);
  void lose_in_release(Hold& hold, const std::string& reason) HOLDFAST_REQUIRES(book_.mutex);
  void expire(const HoldPtr& hold) HOLDFAST_REQUIRES(book_.mutex);

  // Of deferred releases.
  Entry settle(const LockName& name, OwnerNumber owner, const ReleasePlan& plan)
      HOLDFAST_REQUIRES(book_.mutex);
  void lose_deferred(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                     const std::string& reason) HOLDFAST_REQUIRES(book_.mutex);
  void lose_after_release(const HoldPtr& hold, const std::string& reason, bool overtaken)
      HOLDFAST_REQUIRES(book_.mutex);
  void end_deferred(const Entry& entry, OwnerNumber owner, End how, const std::string& why)
      HOLDFAST_REQUIRES(book_.mutex);

  HoldBook& book_;
};

}  // namespace holdfast::lease
