#include "locks/sync/quorum/quorum_machine.h"

#include <algorithm>
#include <utility>

#include "locks/sync/operation/callers_time.h"

namespace holdfast::sync {

namespace {

// The backoff after the second failed round is at most as long as that round held its first member
// in failed, within these bounds; it doubles with each of kDoublings more rounds.
constexpr Millis kShortestRest{4};
constexpr Millis kLongestRest{100};
constexpr std::size_t kDoublings = 5;
// Between two rounds in which too few members answered, or too late.
constexpr Millis kMissingBackoff{50};

}  // namespace

QuorumMachine::QuorumMachine(Options options)
    : options_(std::move(options)),
      members_(options_.rule, options_.votes),
      random_(options_.seed) {}

QuorumMachine::Action QuorumMachine::resume(Input input, TimePoint now) {
  if (state_ == State::kOver) return {};
  switch (input.kind) {
    case Input::Kind::kStart:
      return start(now);
    case Input::Kind::kAnswer:
      return answered(std::move(input), now);
    case Input::Kind::kTime:
      return time(now);
    case Input::Kind::kCancel:
      return finish(Verdict::kCancelled);
  }
  return {};
}

QuorumMachine::Action QuorumMachine::start(TimePoint now) {
  return options_.rule.one_first && !options_.pipelined ? call_first(now) : call_others(now);
}

QuorumMachine::Action QuorumMachine::call_first(TimePoint now) {
  state_ = State::kFirst;
  const Duration watch = options_.rule.watch_time;
  const bool endless = watch == kNever - TimePoint{};
  const TimePoint watched = endless ? kNever : after(now, watch / 2 + random(watch / 2));
  const TimePoint until = endless ? kNever : std::min(watched, std::max(now, last_round()));
  return call(options_.blocking ? Action::Verb::kWait : Action::Verb::kTry, {first_}, until);
}

QuorumMachine::Action QuorumMachine::call_others(TimePoint now) {
  state_ = State::kAll;
  return call(Action::Verb::kTry, members_.those(MemberState::kFree),
              after(now, options_.rule.member_time));
}

QuorumMachine::Action QuorumMachine::call(Action::Verb verb, std::vector<std::size_t> members,
                                          TimePoint until) {
  again_ = verb == Action::Verb::kAgain;
  members_.call(members);
  return {verb, {}, std::move(members), until};
}

QuorumMachine::Action QuorumMachine::answered(Input input, TimePoint now) {
  members_.answered(input.member, input.verdict, input.why, std::move(input.trusted));
  if (state_ == State::kFirst) {
    const MemberState state = members_.state(first_);
    if (state == MemberState::kGranted) {
      return options_.rule.members == 1 ? round_over(now) : call_others(now);
    }
    if (options_.rule.one_first) return not_enough(now);
    // A majority can do without this one.
    const bool refused = state == MemberState::kRefused;
    if (refused && now >= options_.deadline) return finish(Verdict::kTimedOut);
    members_.forget(first_);
    return call_others(now);
  }
  const bool lost =
      members_.count(MemberState::kGranted) + members_.count(MemberState::kRequested) <
      options_.rule.needed;
  // A majority waits for all answers: they distinguish "held by another owner" from "out of reach".
  // So does a pipeline: its answers come together.
  const bool decided = lost && options_.rule.one_first && !options_.pipelined;
  if (members_.count(MemberState::kRequested) > 0 && !decided) return {};
  return round_over(now);
}

QuorumMachine::Action QuorumMachine::time(TimePoint now) {
  if (state_ == State::kBackingOff) return failed_rounds_ > 0 ? call_first(now) : start(now);
  if (state_ == State::kAll) return round_over(now);
  if (now >= options_.deadline) return finish(Verdict::kTimedOut);
  std::vector<std::size_t> back = members_.take_back();
  Action action = call_others(now);
  action.give_back = std::move(back);
  return action;
}

QuorumMachine::Action QuorumMachine::round_over(TimePoint now) {
  if (!members_.enough(now)) return not_enough(now);
  // If all are required, the leases of the first ones may be too short by now, counted from the
  // last grant: they are set again. A difference of the validity's margin is accepted; after leases
  // were set again, so is the duration of that exchange, so they are not set a third time. A
  // majority keeps what remains of its leases.
  if (!options_.lease.renewed && options_.rule.one_first && !again_) {
    const TimePoint until = trusted_until(now, options_.lease.time);
    const Duration margin = after(now, options_.lease.time) - until;
    std::vector<std::size_t> early;
    for (const std::size_t member : members_.those(MemberState::kGranted)) {
      if (members_.trusted(member) < until - margin) early.push_back(member);
    }
    if (!early.empty()) return call(Action::Verb::kAgain, std::move(early), kNever);
  }
  state_ = State::kOver;
  return {Action::Verb::kFinish, members_.those(MemberState::kRequested)};
}

QuorumMachine::Action QuorumMachine::not_enough(TimePoint now) {
  members_.give_up_silent();
  if (const auto end = members_.hopeless()) return finish(end->verdict, end->why);
  if (options_.rule.one_first) {
    if (members_.count(MemberState::kFailed) > 0) return out_of_order(now);
    return members_.count(MemberState::kRefused) > 0 ? refused(now) : finish(Verdict::kExpired);
  }
  const std::size_t reached = members_.count(MemberState::kGranted) +
                              members_.count(MemberState::kRefused) +
                              members_.count(MemberState::kLate);
  if (reached < options_.rule.needed) return missing(now);
  return members_.count(MemberState::kRefused) > 0 ? refused(now)
                                                   : not_yet(Verdict::kExpired, {}, now);
}

// Too few members answered. If a majority refuses to work, the caller gets that error.
QuorumMachine::Action QuorumMachine::missing(TimePoint now) {
  const Status why = members_.temporary_failure();
  if (why.ok()) return not_yet(Verdict::kFailed, members_.out_of_reach(), now);
  if (!options_.blocking) return finish(Verdict::kFailed, why);
  if (now >= options_.deadline) return finish(Verdict::kTimedOut, why);
  return not_yet(Verdict::kFailed, why, now);
}

// Held by another owner.
QuorumMachine::Action QuorumMachine::refused(TimePoint now) {
  missing_since_ = kNever;
  if (!options_.blocking) return finish(Verdict::kBusy);
  if (now >= options_.deadline) return finish(Verdict::kTimedOut);
  // The time since the attempt at the first member, if this round was granted it: for that time
  // other owners waited there, and two competing owners need it to release each other's members.
  Duration held{};
  if (members_.state(first_) == MemberState::kGranted) {
    held = trusted_until(now, options_.lease.time) - members_.trusted(first_);
  }
  held = std::clamp<Duration>(held, kShortestRest, kLongestRest);
  first_ = members_.those(MemberState::kRefused).front();
  // A round of a pipeline that was granted nothing has kept nothing from others.
  const bool vain = !options_.pipelined || members_.count(MemberState::kGranted) > 0;
  std::vector<std::size_t> back = members_.take_back();
  const std::size_t failed = vain ? std::min(failed_rounds_++, kDoublings) : 0;
  const Duration longest = held * (1 << failed) / 2;
  const TimePoint until = std::min(after(now, random(longest)), options_.deadline);
  Action action = failed == 0 ? call_first(now) : back_off(until);
  action.give_back = std::move(back);
  return action;
}

// All members are required, and a server refuses to work. It is waited for like an owner, while no
// member is held; if that fails, the acquisition fails.
QuorumMachine::Action QuorumMachine::out_of_order(TimePoint now) {
  const std::size_t member = members_.those(MemberState::kFailed).front();
  const Status why = members_.why(member);
  if (options_.blocking && now >= options_.deadline) return finish(Verdict::kTimedOut, why);
  if (!options_.blocking || state_ == State::kFirst) return finish(Verdict::kFailed, why);
  first_ = member;
  std::vector<std::size_t> back = members_.take_back();
  Action action = call_first(now);
  action.give_back = std::move(back);
  return action;
}

// It is unknown whether another owner holds it: try as long as a server may be out of reach.
QuorumMachine::Action QuorumMachine::not_yet(Verdict verdict, Status why, TimePoint now) {
  if (missing_since_ == kNever) missing_since_ = now;
  TimePoint until = std::min(after(missing_since_, options_.unreachable_budget), last_round());
  if (members_.refusing_connections()) until = std::min(until, options_.connect_deadline);
  const bool gives_up = now >= until;
  if (gives_up || (verdict == Verdict::kExpired && !options_.blocking)) {
    return finish(verdict, std::move(why));
  }
  std::vector<std::size_t> back = members_.take_back();
  failed_rounds_ = 0;
  Action action =
      back_off(std::min(until, after(now, kMissingBackoff / 2 + random(kMissingBackoff / 2))));
  action.give_back = std::move(back);
  return action;
}

// When a majority's last round begins at the latest, so that it ends in time. Where all are
// required, each member's commands end in time.
TimePoint QuorumMachine::last_round() const {
  if (options_.latest == kNever) return kNever;
  return options_.latest - std::min<Duration>(options_.rule.member_time, kLateAnswer);
}

QuorumMachine::Action QuorumMachine::back_off(TimePoint until) {
  state_ = State::kBackingOff;
  return {Action::Verb::kBackOff, {}, {}, until};
}

QuorumMachine::Action QuorumMachine::finish(Verdict verdict, Status why) {
  std::vector<std::size_t> back = members_.take_back();
  state_ = State::kOver;
  return {Action::Verb::kFinish, std::move(back), {}, kNever, verdict, std::move(why)};
}

Duration QuorumMachine::random(Duration longest) {
  constexpr int kSteps = 1000;
  return longest / kSteps * static_cast<int>(random_() % kSteps);
}

}  // namespace holdfast::sync
