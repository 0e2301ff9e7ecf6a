#include "locks/sync/quorum/quorum_acquire.h"

#include <utility>

#include "locks/sync/operation/acquire_request.h"

namespace holdfast::sync {

QuorumAcquire::QuorumAcquire(const std::shared_ptr<const Context>& context, LockName name,
                             std::unique_ptr<const QuorumMembers> members,
                             QuorumMachine::Options options, const CallersTime& time)
    : Composite(context, std::move(name), options.rule.members, Role::kAcquire),
      stats_(context->stats),
      members_(std::move(members)),
      all_needed_(options.rule.spare() == 0),
      time_(time),
      called_(options.rule.members),
      machine_(std::move(options)) {}

// For the whole time, not only during a member's request: its owner has one acquisition of each.
Status QuorumAcquire::enter() {
  attempts_.reserve(called_.size());
  parts_.reserve(called_.size());
  for (std::size_t member = 0; member < called_.size(); ++member) {
    parts_.push_back(members_->attempt(member, lease::Attempt::Kind::kPart));
  }
  for (std::size_t member = 0; member < called_.size(); ++member) {
    attempts_.push_back(members_->attempt(member, lease::Attempt::Kind::kAround));
    if (!attempts_.back().enter()) {
      attempts_.clear();
      return members_->under_way(member, caller_.by_thread());
    }
  }
  return {};
}

// A handler that closes the client must not wait for the thread that runs it. Who waits for the
// first member has none.
bool QuorumAcquire::stopped_by(Interrupt& interrupt) {
  if (waits_for_) parts_[*waits_for_].end();
  const bool stopped = interrupt.pending();
  if (waits_for_) (void)parts_[*waits_for_].enter();
  return stopped;
}

// While it waits for the first member, or backs off, it has no other.
void QuorumAcquire::note_wait(const Machine::Action& action) {
  using Verb = Machine::Action::Verb;
  waits_for_.reset();
  if (action.verb == Verb::kWait) waits_for_ = action.members.front();
  if (action.verb != Verb::kWait && action.verb != Verb::kBackOff) return;
  for (lease::Attempt& each : parts_) each.end();
}

void QuorumAcquire::leave() { attempts_.clear(); }

void QuorumAcquire::handle(const Input& input) {
  switch (input.kind) {
    case Input::Kind::kStart:
      return apply(machine_.resume({Machine::Input::Kind::kStart}, now()));
    case Input::Kind::kMember: {
      Machine::Input answer{Machine::Input::Kind::kAnswer, input.member, input.outcome.verdict,
                            input.outcome.why};
      if (!all_needed_ || !calling()) {
        for (std::size_t member = 0; member < called_.size(); ++member) {
          const std::optional<Duration> left = members_->remaining(member);
          answer.trusted.push_back(left ? after(now(), *left) : TimePoint{});
        }
      }
      return apply(machine_.resume(std::move(answer), now()));
    }
    case Input::Kind::kTime:
      return apply(machine_.resume({Machine::Input::Kind::kTime}, now()));
    case Input::Kind::kCancel:
      break;
  }
  apply(machine_.resume({Machine::Input::Kind::kCancel}, now()));
  // A grant that its caller never gets.
  for (std::size_t member = 0; member < called_.size(); ++member) give_back(member);
}

void QuorumAcquire::apply(const Machine::Action& action) {
  using Verb = Machine::Action::Verb;
  if (action.verb == Verb::kNone) return;
  for (const std::size_t member : action.give_back) give_back(member);
  wake_at(action.until);
  note_wait(action);
  const auto how = action.verb == Verb::kTry    ? QuorumMembers::How::kTry
                   : action.verb == Verb::kWait ? QuorumMembers::How::kWait
                                                : QuorumMembers::How::kAgain;
  for (const std::size_t member : action.members) call(member, how);
  if (action.verb != Verb::kFinish) return;
  const Stats::Counter end = AcquireStats::counter(action.verdict);
  if (end != Stats::Counter::kAcquired) stats_->add(end);  // each member counts its grant
  const bool late = time_.is_late(action.why, now());
  parts_.clear();
  if (action.why.code() == Code::kLost) members_->end_lost();
  finish({action.verdict, late ? time_.late(name().bytes(), action.why) : action.why});
}

void QuorumAcquire::call(std::size_t member, QuorumMembers::How how) {
  // An earlier attempt of the same round no longer matters, unless it was granted.
  const bool again = how == QuorumMembers::How::kAgain;
  ExchangePtr& operation = again ? called_[member].again : called_[member].attempt;
  operation = members_->acquire(member, how);
  if (!parts_[member].under_way()) (void)parts_[member].enter();
  Composite::call(member, operation);
}

void QuorumAcquire::give_back(std::size_t member) {
  const auto [attempt, again] = std::exchange(called_[member], {});
  if (attempt) attempt->cancel();
  if (again) again->cancel();
  if (!parts_.empty()) parts_[member].end();
  forget(member);
}

}  // namespace holdfast::sync
