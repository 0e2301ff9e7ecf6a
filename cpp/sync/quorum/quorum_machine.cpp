#include "sync/quorum/quorum_machine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sync/operation/callers_time.h"
#include "sync/operation/operation.h"

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

std::string QuorumRule::text(std::size_t member) const {
  return texts ? (*texts)[member] : "member " + std::to_string(member + 1);
}

QuorumMachine::QuorumMachine(Options options)
    : options_(std::move(options)),
      members_(options_.rule.members),
      trusted_(options_.rule.members),
      votes_(options_.votes),
      random_(options_.seed) {}

QuorumMachine::Action QuorumMachine::resume(const Event& event, TimePoint now) {
  if (state_ == State::kOver) return {};
  switch (event.kind) {
    case Event::Kind::kStart:
      return start(now);
    case Event::Kind::kAnswer:
      return answered(event, now);
    case Event::Kind::kTime:
      return time(now);
    case Event::Kind::kCancel:
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
  return call(Action::Verb::kTry, those(MemberState::kFree), after(now, options_.rule.member_time));
}

QuorumMachine::Action QuorumMachine::call(Action::Verb verb, std::vector<std::size_t> members,
                                          TimePoint until) {
  again_ = verb == Action::Verb::kAgain;
  for (const std::size_t member : members) {
    members_[member].state = MemberState::kRequested;
    members_[member].why = {};
  }
  return {verb, {}, std::move(members), until};
}

QuorumMachine::Action QuorumMachine::answered(const Event& event, TimePoint now) {
  note(event);
  if (state_ == State::kFirst) return first_answered(now);
  const bool lost =
      count(MemberState::kGranted) + count(MemberState::kRequested) < options_.rule.needed;
  // A majority waits for all answers: they distinguish "held by another owner" from "out of reach".
  // So does a pipeline: its answers come together.
  const bool decided = lost && options_.rule.one_first && !options_.pipelined;
  if (count(MemberState::kRequested) > 0 && !decided) return {};
  return round_over(now);
}

Status QuorumMachine::why_of(const Event& event) const {
  if (event.verdict != Verdict::kGone && event.why.code() != Code::kLost) return event.why;
  return Status::lost(options_.rule.title(event.member) + ": " + event.why.message());
}

void QuorumMachine::note(const Event& event) {
  if (!event.trusted.empty()) trusted_ = event.trusted;
  Member& member = members_[event.member];
  member.why = why_of(event);
  switch (event.verdict) {
    case Verdict::kGranted:
      member.state = MemberState::kGranted;
      member.ours = true;
      break;
    case Verdict::kBusy:
      member.state = MemberState::kRefused;
      break;
    case Verdict::kTimedOut:
      member.state = event.why.ok() ? MemberState::kRefused : MemberState::kFailed;
      break;
    case Verdict::kGone:
      member.state = MemberState::kGone;
      votes_[event.member] = false;
      gone_ = member.why;
      break;
    case Verdict::kExpired:
      member.state = MemberState::kLate;
      break;
    case Verdict::kFailed:
    case Verdict::kCancelled:
      member.state = MemberState::kFailed;
      break;
  }
}

QuorumMachine::Action QuorumMachine::first_answered(TimePoint now) {
  const MemberState state = members_[first_].state;
  if (state == MemberState::kGranted)
    return members_.size() == 1 ? round_over(now) : call_others(now);
  if (options_.rule.one_first) return not_enough(now);
  // A majority can do without this one.
  if (state == MemberState::kRefused && now >= options_.deadline) return finish(Verdict::kTimedOut);
  members_[first_] = {};
  return call_others(now);
}

QuorumMachine::Action QuorumMachine::time(TimePoint now) {
  if (state_ == State::kBackingOff) return failed_rounds_ > 0 ? call_first(now) : start(now);
  if (state_ == State::kAll) return round_over(now);
  if (now >= options_.deadline) return finish(Verdict::kTimedOut);
  std::vector<std::size_t> back = take_back();
  Action action = call_others(now);
  action.give_back = std::move(back);
  return action;
}

QuorumMachine::Action QuorumMachine::round_over(TimePoint now) {
  if (!enough(now)) return not_enough(now);
  const std::vector<std::size_t> early = too_early(now);
  if (!early.empty()) return call(Action::Verb::kAgain, early, kNever);
  state_ = State::kOver;
  return {Action::Verb::kFinish, unanswered()};
}

bool QuorumMachine::enough(TimePoint now) const {
  std::size_t votes = 0;
  for (const std::size_t member : those(MemberState::kGranted)) {
    votes += votes_[member] && now < trusted_[member] ? 1U : 0U;
  }
  return votes >= options_.rule.needed;
}

// If all are required, the members whose lease is too short, counted from the last grant. A
// difference of the validity's margin is accepted; after leases were set again, so is the duration
// of that exchange, so they are not set a third time. A majority keeps what remains of its leases.
std::vector<std::size_t> QuorumMachine::too_early(TimePoint now) const {
  std::vector<std::size_t> members;
  if (options_.lease.renewed || !options_.rule.one_first || again_) return members;
  const TimePoint until = trusted_until(now, options_.lease.time);
  const Duration margin = after(now, options_.lease.time) - until;
  for (const std::size_t member : those(MemberState::kGranted)) {
    if (trusted_[member] < until - margin) members.push_back(member);
  }
  return members;
}

QuorumMachine::Action QuorumMachine::not_enough(TimePoint now) {
  give_up_silent();
  if (const Status lost = known_loss(); !lost.ok()) return finish(Verdict::kFailed, lost);
  if (outer_is_gone()) return finish(Verdict::kGone, gone_);
  if (hopeless()) return finish(Verdict::kFailed, why(MemberState::kFailed));
  if (options_.rule.one_first) {
    if (count(MemberState::kFailed) > 0) return out_of_order(now);
    return count(MemberState::kRefused) > 0 ? refused(now) : finish(Verdict::kExpired);
  }
  const std::size_t reached =
      count(MemberState::kGranted) + count(MemberState::kRefused) + count(MemberState::kLate);
  if (reached < options_.rule.needed) return missing(now);
  return count(MemberState::kRefused) > 0 ? refused(now) : not_yet(Verdict::kExpired, {}, now);
}

// Of as many members as make the whole fail: it says more than a loss that another member has only
// found.
Status QuorumMachine::known_loss() const {
  std::size_t known = 0;
  for (const std::size_t member : those(MemberState::kFailed)) {
    if (members_[member].why.code() != Code::kLost) continue;
    if (++known > options_.rule.spare()) return members_[member].why;
  }
  return {};
}

// The members that may have the outer hold still are no quorum. Those that are silent may.
bool QuorumMachine::outer_is_gone() const {
  if (votes_ == options_.votes) return false;
  std::size_t left = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    left += votes_[i] && members_[i].state != MemberState::kRefused ? 1U : 0U;
  }
  return left < options_.rule.needed;
}

// Whether another attempt cannot help until the configuration changes: server errors, closed
// clients; and, if all members are required, one that is out of reach.
bool QuorumMachine::hopeless() const {
  const auto for_good = [this](const Member& member) {
    const bool out_of_reach =
        options_.rule.one_first && member.state == MemberState::kFailed && !member.refuses();
    return out_of_reach || member.failed_for_good();
  };
  const auto failed = std::count_if(members_.begin(), members_.end(), for_good);
  return static_cast<std::size_t>(failed) > options_.rule.spare();
}

bool QuorumMachine::Member::failed_for_good() const {
  return state == MemberState::kFailed && why.code() != Code::kUnreachable && !refuses();
}

bool QuorumMachine::Member::refuses() const {
  return state == MemberState::kFailed && why.code() == Code::kServer &&
         resp::is_temporary(why.word());
}

// Too few members answered. If a majority refuses to work, the caller gets that error.
QuorumMachine::Action QuorumMachine::missing(TimePoint now) {
  const auto refuses = [](const Member& member) { return member.refuses(); };
  const auto refusing = std::count_if(members_.begin(), members_.end(), refuses);
  if (static_cast<std::size_t>(refusing) <= options_.rule.spare()) {
    return not_yet(Verdict::kFailed, out_of_reach(), now);
  }
  const Status why = std::find_if(members_.begin(), members_.end(), refuses)->why;
  if (!options_.blocking) return finish(Verdict::kFailed, why);
  if (now >= options_.deadline) return finish(Verdict::kTimedOut, why);
  return not_yet(Verdict::kFailed, why, now);
}

// Held by another owner.
QuorumMachine::Action QuorumMachine::refused(TimePoint now) {
  missing_since_ = kNever;
  if (!options_.blocking) return finish(Verdict::kBusy);
  if (now >= options_.deadline) return finish(Verdict::kTimedOut);
  const Duration held = std::clamp<Duration>(held_in_vain(now), kShortestRest, kLongestRest);
  first_ = those(MemberState::kRefused).front();
  // A round of a pipeline that was granted nothing has kept nothing from others.
  const bool vain = !options_.pipelined || count(MemberState::kGranted) > 0;
  std::vector<std::size_t> back = take_back();
  const std::size_t failed = vain ? std::min(failed_rounds_++, kDoublings) : 0;
  const Duration longest = held * (1 << failed) / 2;
  const TimePoint until = std::min(after(now, random(longest)), options_.deadline);
  Action action = failed == 0 ? call_first(now) : back_off(until);
  action.give_back = std::move(back);
  return action;
}

// The time since the attempt at the first member, if this round was granted it: for that time other
// owners waited there, and two competing owners need it to release each other's members.
Duration QuorumMachine::held_in_vain(TimePoint now) const {
  if (members_[first_].state != MemberState::kGranted) return {};
  return trusted_until(now, options_.lease.time) - trusted_[first_];
}

// All members are required, and a server refuses to work. It is waited for like an owner, while no
// member is held; if that fails, the acquisition fails.
QuorumMachine::Action QuorumMachine::out_of_order(TimePoint now) {
  const std::size_t member = those(MemberState::kFailed).front();
  const Status why = members_[member].why;
  if (options_.blocking && now >= options_.deadline) return finish(Verdict::kTimedOut, why);
  if (!options_.blocking || state_ == State::kFirst) return finish(Verdict::kFailed, why);
  first_ = member;
  std::vector<std::size_t> back = take_back();
  Action action = call_first(now);
  action.give_back = std::move(back);
  return action;
}

// It is unknown whether another owner holds it: try as long as a server may be out of reach.
QuorumMachine::Action QuorumMachine::not_yet(Verdict verdict, Status why, TimePoint now) {
  if (missing_since_ == kNever) missing_since_ = now;
  TimePoint until = std::min(after(missing_since_, options_.unreachable_budget), last_round());
  if (refusing_connections()) until = std::min(until, options_.connect_deadline);
  const bool gives_up = now >= until;
  if (gives_up || (verdict == Verdict::kExpired && !options_.blocking)) {
    return finish(verdict, std::move(why));
  }
  std::vector<std::size_t> back = take_back();
  failed_rounds_ = 0;
  Action action =
      back_off(std::min(until, after(now, kMissingBackoff / 2 + random(kMissingBackoff / 2))));
  action.give_back = std::move(back);
  return action;
}

bool QuorumMachine::refusing_connections() const {
  const auto silent = [](const Member& member) {
    return member.state == MemberState::kSilent ||
           (member.state == MemberState::kFailed && member.why.reach() != Reach::kRefused);
  };
  return count(MemberState::kFailed) > 0 && std::none_of(members_.begin(), members_.end(), silent);
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
  std::vector<std::size_t> back = take_back();
  state_ = State::kOver;
  return {Action::Verb::kFinish, std::move(back), {}, kNever, verdict, std::move(why)};
}

void QuorumMachine::give_up_silent() {
  if (options_.rule.one_first) return;
  const auto time = std::chrono::duration_cast<Millis>(options_.rule.member_time).count();
  for (const std::size_t member : those(MemberState::kRequested)) {
    members_[member].state = MemberState::kSilent;
    members_[member].why = Status::unreachable(
        options_.rule.text(member) + ": no answer within " + std::to_string(time) +
        " ms; raise command_timeout if its server is only slow");
  }
}

std::vector<std::size_t> QuorumMachine::unanswered() const {
  return those(MemberState::kRequested);
}

std::vector<std::size_t> QuorumMachine::take_back() {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    if (member.ours || member.state == MemberState::kRequested ||
        member.state == MemberState::kSilent)
      members.push_back(i);
    members_[i] = {};
  }
  return members;
}

std::vector<std::size_t> QuorumMachine::those(MemberState state) const {
  std::vector<std::size_t> members;
  members.reserve(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].state == state) members.push_back(i);
  }
  return members;
}

std::size_t QuorumMachine::count(MemberState state) const {
  const auto in_state = [state](const Member& member) { return member.state == state; };
  return static_cast<std::size_t>(std::count_if(members_.begin(), members_.end(), in_state));
}

Status QuorumMachine::why(MemberState state) const {
  const std::vector<std::size_t> members = those(state);
  return members.empty() ? Status() : members_[members.front()].why;
}

Status QuorumMachine::out_of_reach() const {
  std::string reasons;
  std::uint64_t cause = 0;
  std::size_t failed = 0;
  for (const Member& member : members_) {
    if (member.state != MemberState::kFailed && member.state != MemberState::kSilent) continue;
    reasons += (failed++ == 0 ? ": " : "; ") + member.why.message();
    if (cause == 0) cause = member.why.cause();
  }
  return Status::unreachable(std::to_string(members_.size() - failed) + " of the " +
                             std::to_string(members_.size()) +
                             " servers granted or refused the lock, and " +
                             std::to_string(options_.rule.needed) + " have to" + reasons)
      .caused_by(cause);
}

Duration QuorumMachine::random(Duration longest) {
  constexpr int kSteps = 1000;
  return longest / kSteps * static_cast<int>(random_() % kSteps);
}

}  // namespace holdfast::sync
