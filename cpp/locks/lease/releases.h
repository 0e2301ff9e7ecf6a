#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "locks/lease/hold.h"
#include "locks/lease/holds.h"
#include "redis/base/clock.h"

namespace holdfast::lease {

class Keeper;

// A release's work, as far as the client knows.
struct ReleasePlan {
  enum class Kind {
    kNotOwned,  // the caller holds nothing
    kLost,      // it did, and its hold is gone; reported once for each loss
    kPartial,   // `remaining` holds stay
    kFinal,     // the last one
    kDone,      // an earlier release, which could not report to its caller, has got through since
    kUnderWay,  // nothing is begun: the owner is acquiring it, see Attempt
  };
  Kind kind = Kind::kNotOwned;
  int remaining = 0;
  int ended = 0;             // how many holds end by it
  std::string reason;        // kLost: why
  bool held_again = false;   // kLost: the owner has got the lock since, whatever of it is left
  TimePoint trusted{};       // until when the hold may be believed to be there
  bool repeated = false;     // an earlier release of this hold may have been executed
  std::string other{};       // the field that the hold may have instead of its owner's; else empty
  TimePoint until = kNever;  // kFinal: when the lease is over for certain
  TimePoint closed_until{};  // the lock stays closed until then
  Millis closed_for(TimePoint now) const;  // the time from now on; 0: it is freed at once
  // With kFinal: the command that acts for the entry. Its answer counts as long as it does.
  const client::Request* command = nullptr;
  HoldPtr hold{};  // kPartial, and kFinal once its caller has left: see Releases::defer()
  bool deferred() const { return kind == Kind::kFinal && hold; }
};

// A caller's arguments to the beginning of a release.
struct ReleaseStart {
  Holds::Command command{};  // that is about to be sent for a last one
  Holds::Caller caller = Holds::Caller::kAwaits;
  std::optional<TimePoint> at{};  // nothing: now
};

// The releases of one client: what each has to do, and what has become of it: see Holds. A part of
// the client's Keeper. Thread-safe: each takes the keeper's lock.
class Releases {
 public:
  using Caller = Holds::Caller;
  using Command = Holds::Command;
  using Start = ReleaseStart;

  explicit Releases(Keeper& keeper) : keeper_(keeper) {}

  // The first half of a release: a last one ends the hold, and from then on its command acts for
  // the entry.
  ReleasePlan begin(const LockName& name, OwnerNumber owner, Ending ending, Start start = {});
  // Begins the release of a `with` block that ends. If that block has lost its grant: kLost, and
  // nothing is released.
  ReleasePlan end_block(const LockName& name, OwnerNumber owner, Ending ending, Start start = {});
  // Begins the release of a grant that no caller has got, also while the owner is acquiring it. The
  // owner's next release does not report it.
  ReleasePlan begin_giving_back(const LockName& name, OwnerNumber owner, Ending ending,
                                Start start = {});
  // Begins the release of all holds of the owner for another caller; nothing if the owner has begun
  // to release.
  std::optional<ReleasePlan> begin_of_held(const LockName& name, OwnerNumber owner,
                                           Start start = {});
  // The second half, after the server has answered. `lost`: not empty: the owner's field was not
  // there, so the hold is lost, for that reason, which this release reports.
  void done(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
            const std::string& lost = {});

  // The caller of that last release leaves without waiting for the answer: from now on its end is
  // posted (Event::kLostAfterRelease, kReleased, kUnreleased), and another release of the owner's
  // finds nothing. False: a newer command of the owner acts, and the caller stays.
  bool defer(const LockName& name, OwnerNumber owner, ReleasePlan& plan);
  // Posts what has gone wrong with a deferred release, unless its owner has the lock again.
  void report_trouble(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                      const std::string& reason);

  // What an attempt may have been granted is about to be taken back by `command`, at most until
  // `until`. False: the client is closed.
  bool take_back(const LockName& name, OwnerNumber owner, Command command, TimePoint until);
  // How a release ended that has gone on without a caller; the owner's next release reports it.
  enum class End {
    kDone,     // the server has answered
    kRefused,  // it refuses for good
    kExpired,  // the lease was over first
  };
  // `command`: which has carried it. `why`: of kRefused.
  void ended(const LockName& name, OwnerNumber owner, const client::Request* command, End how,
             const std::string& why = {});

  // The holds that one command releases, all or none: permits that are given back together. The
  // command is about to be sent: until end_together(), those of the owners that hold the name are
  // not renewed, and a renewal that finds one gone says nothing about it. Nothing is begun when one
  // is lost, which this reports once.
  using Owners = std::vector<OwnerNumber>;
  struct Lost {
    OwnerNumber owner;
    std::string reason;
  };
  std::optional<Lost> begin_together(const LockName& name, const Owners& owners);
  // The server has answered. Released, they end without a loss; else they are held as before. No
  // effect on holds that another release, or leave_to_lease(), has ended since.
  void end_together(const LockName& name, const Owners& owners, bool released);

  // The hold is to be given the field of a ticket, which is returned, with another lease, and ends
  // here then: see locks/sync/operation/calls.h. From now on (even if it fails) it is not renewed,
  // and is trusted for the shorter one of both leases; a release gives it back under either field.
  // Empty: the owner holds nothing; a release says why.
  std::string begin_detach(const LockName& name, OwnerNumber owner, Millis lease);
  // Its caller gets the ticket: the hold ends. False: it has been lost.
  bool end_detach(const LockName& name, OwnerNumber owner);
  // The contents of the ticket of a hold whose detach was begun; nothing when it is not held.
  struct Detached {
    std::string field;
    std::optional<std::int64_t> token;
    Millis lease;
    Millis minimum;  // that the lock is to stay closed, from the beginning of the detaching
  };
  std::optional<Detached> detached(const LockName& name, OwnerNumber owner) const;

  // The hold is left to its lease, which may be set anew to `lease`, without a release.
  void leave_to_lease(const LockName& name, OwnerNumber owner, Millis lease);

 private:
  Keeper& keeper_;
};

}  // namespace holdfast::lease
