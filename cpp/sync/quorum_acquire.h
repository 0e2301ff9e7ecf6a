#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sync/composite.h"
#include "sync/quorum_machine.h"

namespace holdfast::sync {

// A member of a lock made of locks, as one owner uses it.
class QuorumMember {
 public:
  // Kinds of attempt, after the verbs of QuorumMachine.
  enum class How { kTry, kWait, kAgain };

  virtual ~QuorumMember() = default;
  virtual OperationPtr acquire(How how) const = 0;
  // The rest of the hold's validity by the client's clock; unset when it is not held.
  virtual std::optional<Duration> left() const = 0;
};

// The acquisition of a lock made of other locks: carries out the machine's actions. Each member
// keeps account of its hold.
class QuorumAcquire final : public Composite {
 public:
  using Members = std::vector<std::unique_ptr<const QuorumMember>>;

  QuorumAcquire(const std::shared_ptr<const Context>& context, LockName name, Members members,
                QuorumMachine::Options options);

 private:
  using Machine = QuorumMachine;

  void handle(const Event& event) override;
  void obey(const Machine::Action& action);
  void ask(std::size_t member, QuorumMember::How how);
  void give_back(std::size_t member);
  std::vector<TimePoint> trusted() const;

  const std::shared_ptr<Stats> stats_;
  const Members members_;
  Machine machine_;
  // The attempts at each member since it was last given back.
  std::vector<std::vector<OperationPtr>> operations_;
};

}  // namespace holdfast::sync
