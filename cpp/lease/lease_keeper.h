#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/stats.h"
#include "base/sync_points.h"
#include "base/timer_wheel.h"
#include "lease/attempt.h"
#include "lease/hold.h"
#include "lease/notice_limit.h"
#include "lease/release_ledger.h"
#include "net/loop.h"
#include "net/pollable.h"
#include "topology/topology.h"

namespace holdfast::lease {

// What a release has to do, by what the client knows.
struct ReleasePlan {
  enum class Verdict {
    kNotOwned,  // the caller holds nothing
    kLost,      // it did, and its hold is gone; said once for each loss
    kPartial,   // `remaining` holds stay
    kFinal,     // the last one
    kDone,      // an earlier release, which could not tell its caller, has got through since
    kUnderWay,  // nothing is begun: the owner is acquiring it, see Attempt
  };
  Verdict verdict = Verdict::kNotOwned;
  int remaining = 0;
  int ended = 0;             // how many holds end by it
  std::string reason;        // of kLost
  std::uint64_t ticket = 0;  // of the hold (kPartial), or the turn in the ledger (kFinal)
  TimePoint trusted{};       // until when the hold may be believed to be there
  bool repeated = false;     // an earlier release of this hold may have been executed
  std::string other{};       // the field that the hold may have instead of its owner's; else empty
  std::shared_ptr<Hold> left{};       // by defer(): the hold, of whose end no caller hears
  TimePoint closed_until{};           // the lock stays closed until then
  Millis stays(TimePoint now) const;  // for so long, 0: it is freed at once
};

// What an attempt begins with.
struct AttemptPlan {
  enum class Verdict : std::uint8_t {
    kBegun,
    kUnderWay,  // another attempt of its owner's is: nothing was begun
    kClosed,    // the client is (being) closed: nothing was begun
  };
  Verdict verdict = Verdict::kBegun;
  int count = 1;            // the number that the hold will have
  bool takes_over = false;  // a release of its owner's, to be resumed if the attempt stays
                            // unanswered
};

enum class HoldState : std::uint8_t {
  kHeld,
  kReleasing,  // the last release is on its way: see the ledger
  kLost,       // gone; kept until the owner's next grant, so that it can be told
};

// All holds of one client: their counts, until when each may be trusted, and the watchdog that
// renews them, each a third of its lease after the last time, in pipelines, spread over the period.
// A renewal that fails is tried again within a quarter of a second until the hold's time is over;
// then, or when the server says that it is gone, the hold is *lost*, which is posted as an event. A
// local timer tells it even where the network says nothing. Of the losses the last 10 000 are known
// until the owner's next grant or end.
//
// Thread-safe. Driven by one of the watchdog's loops: a renewal never waits for Python, for a
// caller, or for another client's server.
class LeaseKeeper final : public net::Pollable, public std::enable_shared_from_this<LeaseKeeper> {
 public:
  LeaseKeeper(const Clock& clock, net::Loop& loop, std::string client_id,
              std::shared_ptr<EventSink> events,
              std::shared_ptr<Stats> stats = std::make_shared<Stats>());
  ~LeaseKeeper() override;

  // Where renewals go; to be set once, before the first grant.
  void set_topology(std::weak_ptr<topology::Topology> topology);

  // How many holds the owner has, as far as the client knows; 0 when they are lost.
  int count(const LockName& name, OwnerNumber owner) const;
  // There is something to tell of a hold of the owner's, be it that it is lost or being released.
  bool knows(const LockName& name, OwnerNumber owner) const;
  // A hold of the owner's is known to be gone, and no grant came since.
  bool lost(const LockName& name, OwnerNumber owner) const;
  // Why that hold is gone, or is going to be told to be; nothing where lost() is false.
  std::optional<std::string> loss(const LockName& name, OwnerNumber owner) const;
  // What the newest grant of the owner's hold that brought a token has brought; nothing when not
  // held, or when none did.
  std::optional<std::int64_t> token(const LockName& name, OwnerNumber owner) const;
  // The leases of the owner's nested holds, the outermost first; none when not held.
  std::vector<Lease> levels(const LockName& name, OwnerNumber owner) const;
  // Who of this client holds it, and who has ended while holding it and left it to expire.
  struct Holder {
    OwnerNumber owner;
    std::string ended;  // what has, "thread" or "task"; empty: it holds
  };
  std::vector<Holder> holders(const LockName& name) const;
  // Seconds that are left by the client's own reckoning; nothing when not held.
  std::optional<Duration> left(const LockName& name, OwnerNumber owner) const;

  // The owner is about to ask the server for one more hold, or again. Begins `attempt` unless that
  // has been done. What the ledger has of the owner is taken over: none of it is put in line behind
  // the command.
  AttemptPlan begin_attempt(Attempt& attempt);
  // The owner is acquiring it.
  bool under_way(const LockName& name, OwnerNumber owner) const;
  // The server has answered the attempt that took something over.
  void attempt_answered(const LockName& name, OwnerNumber owner);
  // The end of its attempt. False, and nothing is recorded or ended, when the client is being
  // closed: the grant is to be given back.
  bool granted(const Grant& grant, Attempt& attempt);

  // The first half of a release: a final one ends the hold and enters the ledger with its carrier,
  // which is about to be sent (null: carry_on() follows). `all`: all holds of the owner at once.
  using Caller = ReleaseLedger::Caller;
  ReleasePlan begin_release(const LockName& name, OwnerNumber owner, bool all,
                            ReleaseLedger::Carrier carrier = {}, Caller caller = Caller::kAwaits);
  // The same of what no caller has got: also while the owner is acquiring it.
  ReleasePlan begin_giving_back(const LockName& name, OwnerNumber owner, bool all);
  // The same, of all holds, for another than the owner; nothing if its owner has begun to release.
  std::optional<ReleasePlan> begin_release_of_held(const LockName& name, OwnerNumber owner);
  // The second half, after the server has answered.
  void released(const LockName& name, OwnerNumber owner, const ReleasePlan& plan);
  // The same where the owner's field was not there: the hold is lost, of which this release tells.
  void release_found_nothing(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                             const std::string& reason);

  // The caller of that last release leaves without waiting for the answer: from now on its end is
  // posted (Event::kLostLate, kReleased, kUnreleased), and another release of the owner's finds
  // nothing. The hold, for the plan.
  std::shared_ptr<Hold> defer(const LockName& name, OwnerNumber owner, ReleaseLedger::Turn turn);
  // What has gone wrong with a deferred release, unless its owner has the lock again.
  void release_hindered(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                        const std::string& reason);

  // What an attempt may have been granted is about to be taken back by `carrier`, at most until
  // `until`. The turn.
  ReleaseLedger::Turn take_back(const LockName& name, OwnerNumber owner,
                                ReleaseLedger::Carrier carrier, TimePoint until);
  // Another carrier goes on with a release. Until when; nothing when the release of that turn is
  // over, or was taken over: then it must not be sent.
  std::optional<TimePoint> carry_on(const LockName& name, OwnerNumber owner,
                                    ReleaseLedger::Turn turn, ReleaseLedger::Carrier carrier);
  // No caller knows of the hold that is being released: the owner's next release does not report
  // it.
  void disown(const LockName& name, OwnerNumber owner, ReleaseLedger::Turn turn);
  // How a release ended whose caller has left; the owner's next release gets to know.
  enum class LateEnd {
    kDone,     // the server has answered
    kRefused,  // it refuses for good
    kExpired,  // the lease was over first
  };
  // `why`: of kRefused.
  void ended_late(const LockName& name, OwnerNumber owner, ReleaseLedger::Turn turn, LateEnd how,
                  const std::string& why = {});

  // The hold is left to its lease, without a release.
  void leave_to_lease(const LockName& name, OwnerNumber owner);

  // The hold is to be given another field, with another lease, and ends here then: see
  // sync/operation/transfer_operation.h. From now on it may have either field: what renews or
  // releases it has to know both, and it is trusted for the shorter one of both leases. It is not
  // renewed before end_detach(). The verdict: kFinal, and the field is in `other`; kNotOwned,
  // kLost.
  ReleasePlan begin_detach(const LockName& name, OwnerNumber owner, Millis lease);
  // `done`: its caller has got the ticket. Else the hold is its owner's still.
  void end_detach(const LockName& name, OwnerNumber owner, bool done);
  // What a ticket has to tell of a hold that is being detached; nothing when it is not.
  struct Detached {
    std::string field;
    std::optional<std::int64_t> token;
    Millis lease;
    Millis minimum;  // that the lock is to stay closed, from the beginning of the detaching
  };
  std::optional<Detached> detached(const LockName& name, OwnerNumber owner) const;
  // The other field that the owner's hold may have; empty: none.
  std::string other_field(const LockName& name, OwnerNumber owner) const;

  // A new fixed lease is about to be asked for: from now on the hold is not renewed, and until the
  // answer is there, the shorter one of both leases counts. The number of the extension.
  std::uint32_t begin_extension(const LockName& name, OwnerNumber owner, Millis lease);
  // The lease was set by a command sent at `sent`. When another extension has begun since, which
  // may have been executed, too, the shorter one counts still.
  struct Extension {
    std::uint32_t number;
    Millis lease;
  };
  void extended(const LockName& name, OwnerNumber owner, const Extension& extension,
                TimePoint sent);

  // The hold turned out to be gone.
  void lose(const LockName& name, OwnerNumber owner, const std::string& reason);
  // A loss that its owner need not be told of.
  void forget_loss(const LockName& name, OwnerNumber owner);
  // For a grant: the listener no longer receives the loss of the hold.
  void forget_listener(const LockName& name, OwnerNumber owner, std::uint64_t listener);
  // This client has removed the lock by force: its owners of this client, on any side, have lost
  // it.
  void forced(const LockName& name);
  // The hold that the owner waits for will last suspiciously long: posts an event, once a minute
  // for a name.
  void mind_overlong(const LockName& name, OwnerNumber owner, Millis left);

  // The owner is no more, `what` says which kind of it ("thread", "task"): its holds are left to
  // expire, each with an event.
  void owner_ended(OwnerNumber owner, const std::string& what = "owner");

  // A connection broke: ask the server about every hold, now.
  void verify();

  // For tests of programs: while `on`, nothing is renewed or verified, so that leases run out.
  void pause(bool on) { paused_ = on; }

  // The client is being closed: what is granted from now on is given back. `on_idle` is called, on
  // any thread, with locks held, whenever no acquisition is under way any more and no release.
  void begin_close(std::function<void()> on_idle);
  bool closing() const;
  bool idle() const;
  bool acquiring() const;  // an acquisition is under way
  struct Held {
    LockName name;
    OwnerNumber owner;
    const Renewal* renewal;
  };
  std::vector<Held> held() const;
  // Stops everything; the names of what was still held, or may be.
  std::vector<std::string> close();
  bool closed() const;

  net::Interest step(TimePoint now) override;

 private:
  friend class Attempt;
  friend class Hold;
  using HoldPtr = std::shared_ptr<Hold>;
  struct Key {
    Key(const LockName& of, OwnerNumber by) : name(of.bytes()), side(of.side()), owner(by) {}
    std::string_view name;
    Side side;
    OwnerNumber owner;
    bool operator==(const Key& other) const {
      return owner == other.owner && side == other.side && name == other.name;
    }
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  // For Attempt.
  bool begin(Attempt& attempt) HOLDFAST_EXCLUDES(mutex_);
  void begin_beside(Attempt& attempt) HOLDFAST_EXCLUDES(mutex_);
  void end(Attempt& attempt) HOLDFAST_EXCLUDES(mutex_);
  void move(Attempt& from, Attempt& to) HOLDFAST_EXCLUDES(mutex_);

  // With the lock held.
  bool admits(const Attempt& attempt) const HOLDFAST_REQUIRES(mutex_);
  void enter(Attempt& attempt) HOLDFAST_REQUIRES(mutex_);
  void leave(Attempt& attempt) HOLDFAST_REQUIRES(mutex_);
  Hold* find(const LockName& name, OwnerNumber owner) const HOLDFAST_REQUIRES(mutex_);
  Hold* add_hold(const Grant& grant) HOLDFAST_REQUIRES(mutex_);
  void forget_old_losses() HOLDFAST_REQUIRES(mutex_);
  ReleasePlan begin_any(const LockName& name, OwnerNumber owner, bool all,
                        ReleaseLedger::Carrier carrier, Caller caller) HOLDFAST_REQUIRES(mutex_);
  ReleasePlan begin_with(Hold& hold, bool all, ReleaseLedger::Carrier carrier, Caller caller)
      HOLDFAST_REQUIRES(mutex_);
  ReleasePlan plan_release(Hold& hold, bool all) HOLDFAST_REQUIRES(mutex_);
  ReleasePlan plan_pending(const LockName& name, OwnerNumber owner, ReleaseLedger::Carrier& carrier)
      HOLDFAST_REQUIRES(mutex_);
  std::uint64_t enter(Hold& hold, ReleaseLedger::Carrier carrier, Caller caller, TimePoint now)
      HOLDFAST_REQUIRES(mutex_);
  void drop_pending(const LockName& name, OwnerNumber owner) HOLDFAST_REQUIRES(mutex_);
  void count_released(const ReleaseLedger::Entry& entry) HOLDFAST_REQUIRES(mutex_);
  void keep_loss(const HoldPtr& hold) HOLDFAST_REQUIRES(mutex_);
  ReleaseLedger::Entry settle_deferred(const LockName& name, OwnerNumber owner,
                                       const ReleasePlan& plan) HOLDFAST_REQUIRES(mutex_);
  void lose_deferred(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                     const std::string& reason) HOLDFAST_REQUIRES(mutex_);
  void end_deferred(const ReleaseLedger::Entry& entry, OwnerNumber owner, LateEnd how,
                    const std::string& why) HOLDFAST_REQUIRES(mutex_);
  void tell_unreleased(const LockName& name, OwnerNumber owner, const std::string& reason)
      HOLDFAST_REQUIRES(mutex_);
  void note_lost_late(const HoldPtr& hold, const std::string& reason, bool overtaken)
      HOLDFAST_REQUIRES(mutex_);
  void lose_released(const HoldPtr& hold, const std::string& reason) HOLDFAST_REQUIRES(mutex_);
  HoldPtr take(Hold& hold) HOLDFAST_REQUIRES(mutex_);
  void tell_idle() const HOLDFAST_REQUIRES(mutex_);
  void remember_ended(const Hold& hold, const std::string& what) HOLDFAST_REQUIRES(mutex_);
  void arm(Hold& hold, TimePoint now) HOLDFAST_REQUIRES(mutex_);
  void note_lost(Hold& hold, const std::string& reason) HOLDFAST_REQUIRES(mutex_);
  void count(const Hold& hold, Stats::Counter counter, std::int64_t amount = 1)
      HOLDFAST_REQUIRES(mutex_);
  void count_renewal(const Hold& hold, const Result<resp::Reply>& reply) HOLDFAST_REQUIRES(mutex_);
  void count_end(const Hold& hold, TimePoint now)
      HOLDFAST_REQUIRES(mutex_);  // nothing unless it is held
  void post(const Hold& hold, Event::Kind kind) HOLDFAST_REQUIRES(mutex_);
  void retire(Hold& hold, HoldState state)
      HOLDFAST_REQUIRES(mutex_);  // no longer timed nor renewed
  void erase(Hold& hold) HOLDFAST_REQUIRES(mutex_);
  void due(Hold& hold, TimePoint now, std::vector<HoldPtr>& questions) HOLDFAST_REQUIRES(mutex_);
  void ask(Hold& hold, TimePoint now, std::vector<HoldPtr>& questions) HOLDFAST_REQUIRES(mutex_);

  // Without the lock.
  void answered(Hold& hold, const Result<resp::Reply>& reply, const client::Sent& sent)
      HOLDFAST_EXCLUDES(mutex_);
  void submit(const std::vector<HoldPtr>& questions) HOLDFAST_EXCLUDES(mutex_);

  const Clock& clock_;
  net::Loop& loop_;
  const std::string client_id_;
  const std::shared_ptr<EventSink> events_;
  const std::shared_ptr<Stats> stats_;

  mutable Mutex mutex_;
  std::weak_ptr<topology::Topology> topology_ HOLDFAST_GUARDED_BY(mutex_);
  TimerWheel wheel_ HOLDFAST_GUARDED_BY(mutex_);
  std::unordered_map<Key, HoldPtr, KeyHash> holds_ HOLDFAST_GUARDED_BY(mutex_);
  std::unordered_map<OwnerNumber, std::size_t> holds_of_ HOLDFAST_GUARDED_BY(mutex_);
  std::deque<std::weak_ptr<Hold>> losses_ HOLDFAST_GUARDED_BY(mutex_);  // the oldest first
  ReleaseLedger ledger_ HOLDFAST_GUARDED_BY(mutex_);
  Attempts attempts_ HOLDFAST_GUARDED_BY(mutex_);
  std::size_t acquisitions_ HOLDFAST_GUARDED_BY(mutex_) = 0;  // under way, that are counted
  std::function<void()> on_idle_ HOLDFAST_GUARDED_BY(mutex_);
  struct Ended {
    LockName name;
    Holder holder;
    TimePoint until;  // the end of the lease
  };
  std::deque<Ended> ended_ HOLDFAST_GUARDED_BY(mutex_);  // the latest
  NoticeLimit overlong_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t tickets_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  TimePoint armed_ HOLDFAST_GUARDED_BY(mutex_) = kNever;  // when the loop will step next
  bool idle_ HOLDFAST_GUARDED_BY(mutex_) = false;         // the last step found no hold
  bool verify_ HOLDFAST_GUARDED_BY(mutex_) = false;
  SharedAtomic<bool> paused_{false};
  bool closing_ HOLDFAST_GUARDED_BY(mutex_) = false;
  bool closed_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::lease
