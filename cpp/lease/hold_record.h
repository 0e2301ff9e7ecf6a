#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/trace.h"
#include "lease/held_records.h"
#include "lease/hold.h"
#include "lease/look_budget.h"
#include "lease/shortened_lease.h"
#include "lease/tracked_holds.h"

namespace holdfast::lease {

class Watchdog;

enum class HoldState : std::uint8_t {
  kHeld,
  kReleasing,  // the last release is on its way: see the ledger
  kLost,       // gone; kept until the owner's next grant, which may ask for it
};

// The reason of a loss that no server has reported.
constexpr const char* kRanOut = "its lease ran out";
// Of one whose release the server has not answered in time.
constexpr const char* kReleaseExpired = "its lease ran out before its release reached the server";

// How long a hold is not tracked, so that short ones cost nothing.
constexpr Millis kYoung{100};

// The holds that one owner has of one lock, nested: was each acquired without a lease?
class Levels {
 public:
  bool renewed_at(int level) const { return marks_[static_cast<std::size_t>(level)] == kRenewed; }
  int count() const { return static_cast<int>(marks_.size()); }
  bool renewed() const { return renewed_; }
  // The inner ones end; or, if the server knows of more holds than we do, those have a lease.
  void set_count(int count) {
    marks_.resize(static_cast<std::size_t>(count), kLeased);
    renewed_ = marks_.find(kRenewed) != std::string::npos;
  }
  void push(bool renewed) {
    marks_ += renewed ? kRenewed : kLeased;
    renewed_ = renewed_ || renewed;
  }
  void all_leased() {
    marks_.assign(marks_.size(), kLeased);
    renewed_ = false;
  }

 private:
  static constexpr char kRenewed = 'w';
  static constexpr char kLeased = 'l';
  std::string marks_;     // of a few levels it takes no memory besides itself
  bool renewed_ = false;  // one of them is
};

// One owner's hold of one lock; as a request, its check, or its renewal where it may have another
// field (see RenewalBatch for the others). Its fields are guarded by the keeper's lock, but for
// what encode() reads: that stays as it is while a renewal is under way.
class Hold final : public client::Request, public std::enable_shared_from_this<Hold> {
 public:
  using State = HoldState;

  // A step that was to give it another field, and may do so yet.
  struct Move {
    const std::string other;
    Millis lease{0};     // the one that the newest of them sets
    Millis shortest{0};  // of those that any of them sets
    Millis minimum{0};   // that the lock was to stay closed when the newest one began
  };

  struct DueTimer : Timer {
    Hold* hold = nullptr;
  };

  Hold(std::weak_ptr<Watchdog> of, const Grant& grant)
      : watchdog(std::move(of)),
        name(grant.name),
        owner(grant.owner),
        renewal(grant.renewal),
        since(grant.at),
        requested(grant.sent),
        counted(grant.counted) {
    persistent = true;
    timer.hold = this;
  }

  std::string_view key() const override { return name.bytes(); }
  resp::ReplyKinds encode(std::string& out) const override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

  // What is sent next: a renewal for `sent_lease`, or a check.
  void prepare(bool renews, Millis wanted) {
    sent_renewal = renews;
    sent_either = move != nullptr;
    if (renews) sent_lease = wanted;
  }
  // It goes out with others.
  bool in_batch() const { return sent_renewal && !sent_either; }

  bool held() const { return state == State::kHeld; }
  // Until when the hold may be believed to be there.
  TimePoint trusted() const { return std::min(set_until, renewed() ? relied_until : cut_until); }
  bool trusted_at(TimePoint now) const { return held() && now < trusted(); }
  bool lost_at(TimePoint now) const {
    return state == State::kLost || (held() && now >= trusted());
  }
  bool renewed() const { return levels.renewed(); }

  using Step = TraceEntry::Step;
  void trace(Step step) const {
    Trace::record({step, name.bytes(), name.side(), owner, trusted()});
  }

  // What a lease that the server has confirmed is good for: a move may still cut it.
  Millis sure(Millis confirmed) const {
    return move ? std::min(confirmed, move->shortest) : confirmed;
  }

  bool sent_before_move() const { return move && !sent_either; }
  // A renewal that does not find it shows nothing: a step that ends it may have been executed.
  bool may_be_gone() const { return joint || sent_before_move(); }

  // A renewal that was sent then has been confirmed by this reply.
  void record_renewal(TimePoint sent, std::int64_t reply, TimePoint now) {
    // A lease that extend() has set since may have cut the renewed one on the server.
    if (sent_extensions != extensions) return;
    const Millis given = sure(sent_lease);
    const std::optional<Millis> found = renewal->found(reply);
    if (found && after(now, *found) < set_until_when_sent) shortened.observe(*found, now, lease);
    set_lease(sent, given, now);
  }

  // A command that was sent then has set a lease of `given`; a longer one on the server stays.
  void set_lease(TimePoint sent, Millis given, TimePoint now) {
    const TimePoint until = trusted_until(sent, given);
    set_until = std::max(set_until, until);
    cut_until = std::max(cut_until, until);
    const Millis part = shortened.part_of(given, now);
    if (part < given) {
      relied_until = trusted_until(sent, part);
    } else if (!shortened.lasts(now)) {
      relied_until = kNever;
    }
  }

  // One more hold of the owner has been granted.
  void add_level(const Grant& grant) {
    levels.set_count(grant.count - 1);
    levels.push(grant.lease.renewed);
    listen(grant.listener);
    token = grant.token.value_or(token);
    if (grant.lease.renewed) {
      lease = grant.lease.time;
    } else {
      fixed_lease = grant.lease.time;
    }
    set_lease(grant.sent, grant.lease.time, grant.sent);
    if (grant.at_least > Millis(0)) {
      closed_until = std::max(closed_until, after(granted, grant.at_least));
    }
  }

  // Its timer and its renewals end.
  void stop_renewing() {
    timer.disarm();
    abandon();
  }

  void listen(std::uint64_t listener) {
    forget(listener);
    if (listener != 0) listeners.push_back(listener);
  }
  void forget(std::uint64_t listener) {
    listeners.erase(std::remove(listeners.begin(), listeners.end(), listener), listeners.end());
  }

  const std::weak_ptr<Watchdog> watchdog;
  const LockName name;
  const OwnerNumber owner;
  const Renewal* const renewal;
  const TimePoint since;                 // the first of its grants arrived
  const TimePoint requested;             // the command of that grant was sent
  const bool counted;                    // among the figures of the client's locks
  std::vector<std::uint64_t> listeners;  // each once
  std::uint64_t serial = 0;
  std::uint32_t group = 0;  // of holds whose renewals are to come together
  Levels levels;
  std::unique_ptr<const std::string> reason;  // of the loss
  std::int64_t token = 0;  // of the newest grant that brought one (they are positive)
  Millis lease{0};         // of the renewed holds
  Millis fixed_lease{0};   // the newest one that is not renewed
  TimePoint set_until{};   // the end of the lease that this client's commands have set
  // The end of the part of it that other programs leave, while it is renewed.
  TimePoint relied_until = kNever;
  // Of a hold without renewal: the end of what another client has left of its lease, as the latest
  // look has found it; kNever: all of it. Another client may lengthen it again.
  TimePoint cut_until = kNever;
  ShortenedLease shortened;
  TimePoint next_renewal = kNever;
  TimePoint next_look = kNever;    // a check of a hold that may have changed, or is to be tracked
  TrackedHolds::Places tracked{};  // where it is among the tracked ones
  LookBudget looks;                // that changes have caused
  DueTimer timer;
  std::uint32_t extensions = 0;  // that have begun
  std::unique_ptr<Move> move;    // once one was begun: the hold may be under its field
  bool detaching = false;        // whether that is under way
  bool joint = false;            // a release of several holds is: see JointReleases
  TimePoint granted{};           // the first time
  TimePoint closed_until{};      // the lock, whenever it is released
  HeldRecords::Id record = 0;    // of it, for a guard
  State state = State::kHeld;
  bool reported = false;  // the loss, by a release
  bool in_flight = false;
  bool by_text = false;
  bool alone = false;                 // the server has refused the batch that it was in
  std::uint32_t sent_extensions = 0;  // those that had begun before what is in flight
  bool sent_renewal = false;          // what is in flight: a renewal, or a check
  bool sent_either = false;           // the renewal is good for the field of `move`, too
  Millis sent_lease{0};
  TimePoint set_until_when_sent{};  // `set_until` when it was sent
};

}  // namespace holdfast::lease
