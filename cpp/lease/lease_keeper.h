#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/stats.h"
#include "base/timer_wheel.h"
#include "lease/debts.h"
#include "lease/hold.h"
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
  };
  Verdict verdict = Verdict::kNotOwned;
  int remaining = 0;
  std::string reason;        // of kLost
  std::uint64_t ticket = 0;  // for released()
  TimePoint trusted{};       // until when the hold may be believed to be there
  bool repeated = false;     // an earlier release of this hold may have been executed
  std::string other{};       // the field that the hold may have instead of its owner's; else empty
  TimePoint closed_until{};  // the lock stays closed until then
  Millis stays(TimePoint now) const;  // for so long, 0: it is freed at once
};

// What an attempt begins with.
struct AttemptPlan {
  int count = 1;      // the number that the hold will have
  bool owes = false;  // unless the server answers it, there may be something to give back
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
  // Seconds that are left by the client's own reckoning; nothing when not held.
  std::optional<Duration> left(const LockName& name, OwnerNumber owner) const;

  // The owner asks the server for one more hold. A release of its that is still under way (its
  // caller was cancelled) is superseded: it must not be sent again, behind this attempt. Its debts
  // are cancelled; the attempt takes them over.
  AttemptPlan begin_attempt(const LockName& name, OwnerNumber owner);
  void granted(const Grant& grant);

  // The first half of a release: from a final one on the hold is not renewed any more. `all`: all
  // holds of the owner at once.
  ReleasePlan begin_release(const LockName& name, OwnerNumber owner, bool all);
  // The second half, after the server has answered: `remaining` holds are left.
  void released(const LockName& name, OwnerNumber owner, const ReleasePlan& plan);
  // The owner has come back since begin_release(), and what is there now may be a new hold.
  bool superseded(const LockName& name, OwnerNumber owner, const ReleasePlan& plan) const;
  // The same as released() for a release whose caller had to be told that the server is out of
  // reach: `confirmed` by the server since, or else over with the lease. The caller's next
  // release() gets to know.
  void released_late(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                     bool confirmed);

  // For a release without a waiting caller: before it is sent (see Debts::add()), and when it will
  // not be sent again. An acquire or release of the owner meanwhile cancels it.
  void owe(const LockName& name, OwnerNumber owner, std::shared_ptr<Debt> debt, bool covers);
  void settled(OwnerNumber owner, const Debt& debt);

  // The hold is to be given another field, with another lease, and ends here then: see
  // sync/transfer_operation.h. From now on it may have either field: what renews or releases it has
  // to know both, and it is trusted for the shorter one of both leases. It is not renewed before
  // end_detach(). The verdict: kFinal, and the field is in `other`; kNotOwned, kLost.
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
  // The hold that the owner waits for will last suspiciously long: posts an event.
  void mind_overlong(const LockName& name, OwnerNumber owner, Millis left);

  // The thread or task is no more: its holds are left to expire, each with an event.
  void owner_ended(OwnerNumber owner);

  // A connection broke: ask the server about every hold, now.
  void verify();

  // For tests of programs: while `on`, nothing is renewed or verified, so that leases run out.
  void pause(bool on) { paused_ = on; }

  // Stops everything; the names of what was still held.
  std::vector<std::string> close();
  bool closed() const;

  net::Interest step(TimePoint now) override;

 private:
  class Hold;
  using HoldPtr = std::shared_ptr<Hold>;
  enum class HoldState : std::uint8_t {
    kHeld,
    kReleasing,  // the last release is on its way
    kReleased,   // it got through after its caller had been told that it could not
    kLost,       // gone; kept until the owner's next grant, so that it can be told
  };
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
  using Guard = std::lock_guard<std::mutex>;

  // With the lock held.
  Hold* find(const LockName& name, OwnerNumber owner) const;
  Hold* add_hold(const Grant& grant);
  void forget_old_losses();
  static ReleasePlan plan_release(Hold& hold, bool all);
  void arm(Hold& hold, TimePoint now);
  void note_lost(Hold& hold, const std::string& reason);
  void count(const Hold& hold, Stats::Counter counter, std::int64_t amount = 1);
  void count_renewal(const Hold& hold, const Result<resp::Reply>& reply);
  void count_end(const Hold& hold, TimePoint now);  // nothing unless it is held
  void post(const Hold& hold, Event::Kind kind);
  void retire(Hold& hold, HoldState state);  // no longer timed nor renewed
  void erase(Hold& hold);
  void due(Hold& hold, TimePoint now, std::vector<HoldPtr>& questions);
  void ask(Hold& hold, TimePoint now, std::vector<HoldPtr>& questions);

  // Without the lock.
  void answered(Hold& hold, const Result<resp::Reply>& reply, const client::Sent& sent);
  void submit(const std::vector<HoldPtr>& questions);

  const Clock& clock_;
  net::Loop& loop_;
  const std::string client_id_;
  const std::shared_ptr<EventSink> events_;
  const std::shared_ptr<Stats> stats_;

  mutable std::mutex mutex_;
  std::weak_ptr<topology::Topology> topology_;
  TimerWheel wheel_;
  std::unordered_map<Key, HoldPtr, KeyHash> holds_;
  std::unordered_map<OwnerNumber, std::size_t> holds_of_;
  std::deque<std::weak_ptr<Hold>> losses_;  // the oldest first
  Debts debts_;
  std::uint64_t tickets_ = 0;
  TimePoint armed_ = kNever;  // when the loop will step next
  bool idle_ = false;         // the last step found no hold
  bool verify_ = false;
  std::atomic<bool> paused_{false};
  bool closed_ = false;
};

}  // namespace holdfast::lease
