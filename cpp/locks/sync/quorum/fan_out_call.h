#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "locks/sync/quorum/composite.h"
#include "locks/sync/quorum/quorum_machine.h"

namespace holdfast::sync {

// The answers of the members of a quorum; unset: not called, or no answer yet.
using Answers = std::vector<std::optional<Outcome>>;

// One call on several members at once, and one outcome made of their answers. When all but the
// spare members have answered, the rest have a member's time; then their calls continue in the
// background. A second step begins in any case, also if members of the first hang or the caller has
// left; its members have the rest of the caller's time, and then continue likewise.
class FanOutCall final : public Composite {
 public:
  using Places = QuorumRound::Places;
  // The members to be called next, given the answers so far; empty: none.
  using Next = std::function<Places(const Answers&)>;
  using Combine = std::function<Outcome(const Answers&)>;
  struct Plan {
    QuorumRule rule;
    Places members;
    std::function<ExchangePtr(std::size_t member)> call;
    // Called once, when all of `members` have answered, or their time is over, or the caller's.
    Next next{};
    Combine combine;
    Role role = Role::kCall;
  };

  FanOutCall(std::shared_ptr<const Context> context, LockName name, Plan plan);

 private:
  void handle(const Input& input) HOLDFAST_REQUIRES(mutex_) override;
  void run(const Places& members) HOLDFAST_REQUIRES(mutex_);
  void run_next() HOLDFAST_REQUIRES(mutex_);
  void leave_missing() HOLDFAST_REQUIRES(mutex_);
  void go_further() HOLDFAST_REQUIRES(mutex_);

  struct Begun {
    std::size_t member;
    ExchangePtr operation;
  };

  Plan plan_;
  Answers answers_;
  std::vector<Begun> begun_;
  std::size_t missing_ = 0;  // members that are awaited
  TimePoint end_ = kNever;   // the end of the caller's time
  bool last_step_ = false;
  bool limited_ = false;  // missing members have a member's time
};

// The outcomes of all members as the outcome of the whole.
// The largest number that the required number of members reach: the least, if all are required.
// Failed members count as zero, if they are no more than the spare ones.
// `none`: that of a member without one.
Outcome common_number(const QuorumRule& rule, const Answers& answers, std::int64_t none = 0);
Outcome common_ttl(const QuorumRule& rule, const Answers& answers);  // -1: endless, -2: not held
// 1 when at least `needed` members answered 1 or more, else 0.
Outcome common_yes(const QuorumRule& rule, std::size_t needed, const Answers& answers);
// What a release comes to: kBusy when no member had a hold; kGone when the remaining holds were no
// quorum; kFailed when the members out of reach keep other owners from a quorum; else kGranted.
Outcome common_release(const QuorumRule& rule, const Answers& answers);

}  // namespace holdfast::sync
