#include "sync/quorum/quorum_acquire.h"

#include <utility>

#include "sync/operation/acquire_stats.h"

namespace holdfast::sync {

QuorumAcquire::QuorumAcquire(const std::shared_ptr<const Context>& context, LockName name,
                             Members members, QuorumMachine::Options options,
                             const CallersTime& time)
    : Composite(context, std::move(name), members.size()),
      stats_(context->stats),
      members_(std::move(members)),
      all_needed_(options.rule.spare() == 0),
      time_(time),
      machine_(std::move(options)),
      operations_(members_.size()) {}

// For the whole time, not only during a member's request: its owner has one acquisition of each.
Status QuorumAcquire::enter() {
  attempts_.reserve(members_.size());
  for (const auto& member : members_) {
    attempts_.push_back(member->attempt());
    if (!attempts_.back().begin()) {
      attempts_.clear();
      return member->under_way(by_thread());
    }
  }
  return {};
}

void QuorumAcquire::leave() { attempts_.clear(); }

void QuorumAcquire::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kStart:
      return apply(machine_.resume({Machine::Event::Kind::kStart}, now()));
    case Event::Kind::kMember: {
      Machine::Event answer{Machine::Event::Kind::kAnswer, event.member, event.outcome.verdict,
                            event.outcome.why};
      if (!all_needed_ || !calling()) answer.trusted = trusted();
      return apply(machine_.resume(answer, now()));
    }
    case Event::Kind::kTime:
      return apply(machine_.resume({Machine::Event::Kind::kTime}, now()));
    case Event::Kind::kCancel:
      break;
  }
  apply(machine_.resume({Machine::Event::Kind::kCancel}, now()));
  // A grant that its caller never gets.
  for (std::size_t member = 0; member < members_.size(); ++member) give_back(member);
}

void QuorumAcquire::apply(const Machine::Action& action) {
  using Verb = Machine::Action::Verb;
  if (action.verb == Verb::kNone) return;
  for (const std::size_t member : action.give_back) give_back(member);
  wake_at(action.until);
  const auto how = action.verb == Verb::kTry    ? QuorumMember::How::kTry
                   : action.verb == Verb::kWait ? QuorumMember::How::kWait
                                                : QuorumMember::How::kAgain;
  for (const std::size_t member : action.members) call(member, how);
  if (action.verb != Verb::kFinish) return;
  const Stats::Counter end = AcquireStats::counter(action.verdict);
  if (end != Stats::Counter::kAcquired) stats_->add(end);  // each member counts its grant
  const bool late = time_.is_late(action.why, now());
  finish({action.verdict, late ? time_.late(name().bytes(), action.why) : action.why});
}

void QuorumAcquire::call(std::size_t member, QuorumMember::How how) {
  // An earlier attempt of the same round no longer matters, unless it was granted.
  if (how != QuorumMember::How::kAgain) operations_[member].clear();
  operations_[member].push_back(members_[member]->acquire(how));
  Composite::call(member, operations_[member].back());
}

void QuorumAcquire::give_back(std::size_t member) {
  const std::vector<ExchangePtr> operations = std::exchange(operations_[member], {});
  for (const ExchangePtr& operation : operations) operation->cancel();
  forget(member);
}

std::vector<TimePoint> QuorumAcquire::trusted() const {
  std::vector<TimePoint> until;
  until.reserve(members_.size());
  for (const auto& member : members_) {
    const std::optional<Duration> remaining = member->remaining();
    until.push_back(remaining ? after(now(), *remaining) : TimePoint{});
  }
  return until;
}

}  // namespace holdfast::sync
