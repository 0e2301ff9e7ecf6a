#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "locks/sync/operation/operation.h"
#include "simulation/kind.h"
#include "simulation/ledger.h"
#include "simulation/trust_trace.h"
#include "support/calls.h"
#include "support/client.h"

namespace holdfast::simulation {

constexpr Millis kLongestFixedLease{1500};  // of an acquisition whose hold is not renewed

// What the owners of a schedule do, and what may become of it.
struct Script {
  const Kind& kind;
  sync::AcquireOptions acquire_options{};
  std::vector<LockName> locks{};  // with all sides of each name
  int rounds = 2;                 // acquisitions of each owner
  unsigned cancels = 0;           // per mille of the operations
  unsigned deaths = 0;            // per mille of the holds: their owner ends
  unsigned forces = 0;            // per mille of the rounds: a forced release instead
  unsigned long_holds = 100;      // per mille of the holds: longer than a third of the lease
  bool failures = false;          // operations may fail: the server can be out of reach
  bool cuts = false;              // for longer than a release takes
  unsigned defers = 0;            // per mille of the releases: not awaited
  unsigned leases = 350;          // per mille of the acquisitions: with a lease, not renewed
  unsigned second_releases = 0;   // per mille of the releases that a caller has left: once more
};

// As diaries and violations have them.
const char* word(sync::Verdict verdict);
std::string text(const LockName& lock);

// One owner: a task that runs one operation after the other, and judges each result.
class Actor final : public sync::Completion, public std::enable_shared_from_this<Actor> {
 public:
  struct Stage {
    World& world;
    Ledger& ledger;
    const Script& script;
    std::optional<Violation>& violation;
    std::uint64_t& numbers;  // of owners, used so far
    TrustTrace& trust;
  };

  Actor(const Stage& stage, std::shared_ptr<Client> client);

  void begin();
  void done(std::uint64_t id, sync::Outcome outcome) override;
  void observe(const Event& event);
  void lost_late(const LockName& lock);
  void check();  // what must be true at any moment

  bool over() const { return over_; }
  const std::string& field() const { return field_; }
  std::string describe() const;
  const Client& client() const { return *client_; }
  OwnerNumber number() const { return number_; }
  // It is in a blocking acquisition of the lock.
  bool waits_for(const LockName& lock) const;
  // The channel to which it is subscribed; empty when it polls.
  const std::string& channel() const { return channel_; }
  // It holds the lock, has no report of a loss, and has no call under way.
  int settled_depth(const LockName& lock) const;
  // What the server has of it may be there: it holds the lock, is about to, or knows that it is in
  // doubt, as long as the server is not `well`.
  bool answers_for(const LockName& lock, bool well) const;
  // It had that field under an earlier number, and does not know what became of it.
  bool doubts(const std::string& field) const { return doubted_.count(field) != 0; }
  // Its client closes, or has closed and names that lock as one that may still be held.
  bool reported(const std::string& name) const;
  int acquisitions() const { return acquisitions_; }

 private:
  enum class Action { kNone, kAcquire, kRelease, kExtend, kForce };
  struct Hold {
    int depth = 0;          // the holds that were granted to the owner
    bool lost = false;      // their loss was reported to it
    bool in_doubt = false;  // its last release has failed, or was not awaited
    TimePoint left{};  // until when the client trusted what a release that was not awaited frees
    TimePoint unknown_since = kNever;
    bool leased = false;  // one of them has a lease, or had: perhaps it is not renewed
    bool may_be_leased() const { return depth > 0 && leased; }
    bool unsure() const { return depth == 0 || in_doubt; }
  };
  struct Asked {
    Action action = Action::kNone;
    LockName lock{""};
    bool blocking = true;
    bool all = false;
    TimePoint deadline = kNever;
    TimePoint since{};
    TimePoint trusted{};  // until when the client trusted the hold when it asked
    bool cancelled = false;
    bool last = false;  // a release: of the last hold
    bool deferred = false;
    bool first = false;  // by the client's reckoning there is no earlier hold
  };

  struct Before {
    bool operator()(const LockName& one, const LockName& other) const {
      return one.bytes() != other.bytes() ? one.bytes() < other.bytes() : one.side() < other.side();
    }
  };

  Hold& hold(const LockName& lock) { return holds_[lock]; }
  const sync::HoldRecipe& recipe(const LockName& lock) const {
    return stage_.script.kind.recipe(lock);
  }
  const sync::LockRecipe& lock_recipe(const LockName& lock) const {
    return *stage_.script.kind.lock_recipe(lock);
  }
  void blame(const std::string& what);
  void expect(bool right, const std::string& otherwise);
  void next();
  void begin_round();
  const LockName* held_one();
  const sync::SynchronizerPtr& of(const LockName& lock);
  bool returns() const { return !recipe(stage_.script.locks.front()).traits.has_permits; }
  void become_another();
  void think(Duration most);
  void start(sync::ExchangePtr operation, Asked asked);
  void acquire(const LockName& lock, bool may_block_for_ever);
  void release(const LockName& lock);
  void extend(const LockName& lock);
  void force(const LockName& lock);
  void hold_on(const LockName& lock);
  void end();
  void cancel(std::uint64_t id);
  void read_mail(std::uint64_t id);
  bool granted_by_mail() const;
  bool may_fail(const sync::Outcome& outcome) const;
  void acquired(sync::Verdict verdict);
  void extended(const sync::Outcome& outcome);
  void check_token();
  void released(sync::Verdict verdict);
  void released_well(Hold& held);
  void check_hold(const LockName& lock, Hold& hold);
  void check_trust(const LockName& lock, bool renewed);
  void check_left_behind();

  const Stage stage_;
  const std::shared_ptr<Client> client_;
  OwnerNumber number_;
  std::string field_;
  std::set<std::string> doubted_;
  int rounds_;
  int acquisitions_ = 0;
  bool over_ = false;
  bool forgotten_ = false;  // it ended before its client had closed, which forgot its holds then
  std::optional<LockName> again_;  // to be released once more
  std::map<LockName, Hold, Before> holds_;
  std::vector<sync::SynchronizerPtr> synchronizers_;  // that were used
  sync::ExchangePtr operation_;
  Asked asked_;
  std::string channel_;
  std::uint64_t id_ = 0;
  std::optional<sync::Outcome> mail_;  // reported, not yet read
};

}  // namespace holdfast::simulation
