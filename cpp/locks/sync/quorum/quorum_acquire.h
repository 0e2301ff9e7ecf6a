#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "locks/lease/attempt.h"
#include "locks/sync/operation/callers_time.h"
#include "locks/sync/quorum/composite.h"
#include "locks/sync/quorum/quorum_machine.h"

namespace holdfast::sync {

// The members of a lock made of locks, as one owner uses them.
class QuorumMembers {
 public:
  // Kinds of attempt, after the verbs of QuorumMachine.
  enum class How { kTry, kWait, kAgain };

  virtual ~QuorumMembers() = default;
  virtual ExchangePtr acquire(std::size_t member, How how) const = 0;
  // The lock of locks, as an acquisition of the member by its owner. The member outlives it.
  virtual lease::Attempt attempt(std::size_t member, lease::Attempt::Kind kind) const = 0;
  // A call for the member that its owner is acquiring; see under_way_status().
  virtual Status under_way(std::size_t member, bool by_thread) const = 0;
  // The remaining validity of the hold by the client's clock; unset when it is not held.
  virtual std::optional<Duration> remaining(std::size_t member) const = 0;
  // An earlier hold of the whole is lost, and its owner gets to know by this acquisition: no later
  // one is refused for it, and what the members still have of that hold is released.
  virtual void end_lost() const = 0;
};

// The acquisition of a lock made of other locks: carries out the machine's actions. Each member
// keeps account of its hold.
class QuorumAcquire final : public Composite {
 public:
  QuorumAcquire(const std::shared_ptr<const Context>& context, LockName name,
                std::unique_ptr<const QuorumMembers> members, QuorumMachine::Options options,
                const CallersTime& time);

 private:
  using Machine = QuorumMachine;

  bool stopped_by(Interrupt& interrupt) override;
  Status enter() HOLDFAST_REQUIRES(mutex_) override;
  void leave() HOLDFAST_REQUIRES(mutex_) override;
  void handle(const Input& input) HOLDFAST_REQUIRES(mutex_) override;
  void apply(const Machine::Action& action) HOLDFAST_REQUIRES(mutex_);
  void call(std::size_t member, QuorumMembers::How how) HOLDFAST_REQUIRES(mutex_);
  void give_back(std::size_t member) HOLDFAST_REQUIRES(mutex_);
  void note_wait(const Machine::Action& action) HOLDFAST_REQUIRES(mutex_);

  const std::shared_ptr<Stats> stats_;
  const std::unique_ptr<const QuorumMembers> members_;
  const bool all_needed_;
  const CallersTime time_;
  // The attempts at each member since it was last given back.
  struct Called {
    ExchangePtr attempt;
    ExchangePtr again;
  };
  std::vector<Called> called_;
  Machine machine_;
  std::vector<lease::Attempt> attempts_;
  // The attempts of the members that may have to be given back: close() of a client waits for its
  // own.
  std::vector<lease::Attempt> parts_;
  std::optional<std::size_t> waits_for_;  // the first member; set by the thread in wait()
};

}  // namespace holdfast::sync
