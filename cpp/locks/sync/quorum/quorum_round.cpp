#include "locks/sync/quorum/quorum_round.h"

#include <algorithm>
#include <utility>

#include "redis/resp/reply.h"

namespace holdfast::sync {

namespace {

// A member's time to answer: a 200th of the lease, within these bounds.
constexpr Millis kLeastTime{5};
constexpr Millis kMostTime{50};
constexpr int kPartOfLease = 200;
// A server may die while the client waits for its message: then the others are tried.
constexpr Millis kWatchTime{250};

}  // namespace

QuorumRule multi_lock_rule(std::size_t members, Millis /*lease*/) {
  return {members, members, true};
}

QuorumRule red_lock_rule(std::size_t members, Millis lease) {
  const Millis time = std::clamp(lease / kPartOfLease, kLeastTime, kMostTime);
  return {members, members / 2 + 1, false, time, kWatchTime};
}

std::string QuorumRule::text(std::size_t member) const {
  return texts ? (*texts)[member] : "member " + std::to_string(member + 1);
}

QuorumRound::QuorumRound(const QuorumRule& rule, const std::vector<bool>& votes)
    : rule_(rule),
      outer_votes_(votes),
      votes_(votes),
      members_(rule_.members),
      trusted_(rule_.members) {}

void QuorumRound::call(const Places& members) {
  for (const std::size_t member : members) {
    members_[member].state = State::kRequested;
    members_[member].why = {};
  }
}

void QuorumRound::answered(std::size_t place, Verdict verdict, const Status& why,
                           std::vector<TimePoint> trusted) {
  if (!trusted.empty()) trusted_ = std::move(trusted);
  Member& member = members_[place];
  member.why = why;
  if (verdict == Verdict::kGone || why.code() == Code::kLost) {
    member.why = Status::lost(rule_.title(place) + ": " + why.message());
  }
  switch (verdict) {
    case Verdict::kGranted:
      member.state = State::kGranted;
      member.ours = true;
      break;
    case Verdict::kBusy:
      member.state = State::kRefused;
      break;
    case Verdict::kTimedOut:
      member.state = why.ok() ? State::kRefused : State::kFailed;
      break;
    case Verdict::kGone:
      member.state = State::kGone;
      votes_[place] = false;
      gone_ = member.why;
      break;
    case Verdict::kExpired:
      member.state = State::kLate;
      break;
    case Verdict::kObjected:
    case Verdict::kFailed:
    case Verdict::kCancelled:
      member.state = State::kFailed;
      break;
  }
}

void QuorumRound::give_up_silent() {
  if (rule_.one_first) return;
  const auto time = std::chrono::duration_cast<Millis>(rule_.member_time).count();
  for (const std::size_t member : those(State::kRequested)) {
    members_[member].state = State::kSilent;
    members_[member].why =
        Status::unreachable(rule_.text(member) + ": no answer within " + std::to_string(time) +
                            " ms; raise command_timeout if its server is only slow");
  }
}

QuorumRound::Places QuorumRound::take_back() {
  Places members;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member member = std::exchange(members_[i], {});
    if (member.ours || member.state == State::kRequested || member.state == State::kSilent) {
      members.push_back(i);
    }
  }
  return members;
}

QuorumRound::Places QuorumRound::those(State state) const {
  Places members;
  members.reserve(count(state));
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].state == state) members.push_back(i);
  }
  return members;
}

std::size_t QuorumRound::count(State state) const {
  const auto in_state = [state](const Member& member) { return member.state == state; };
  return static_cast<std::size_t>(std::count_if(members_.begin(), members_.end(), in_state));
}

bool QuorumRound::enough(TimePoint now) const {
  std::size_t votes = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const bool granted = members_[i].state == State::kGranted;
    votes += granted && votes_[i] && now < trusted_[i] ? 1U : 0U;
  }
  return votes >= rule_.needed;
}

bool QuorumRound::Member::refuses() const {
  return state == State::kFailed && why.code() == Code::kServer && resp::is_temporary(why.word());
}

template <typename Fits>
Status QuorumRound::why_too_many(const Fits& fits) const {
  const auto failed = std::count_if(members_.begin(), members_.end(), fits);
  if (static_cast<std::size_t>(failed) <= rule_.spare()) return {};
  return std::find_if(members_.begin(), members_.end(), fits)->why;
}

std::optional<Outcome> QuorumRound::hopeless() const {
  // A loss that is known says more than one that another member has only found.
  Status why = why_too_many([](const Member& member) {
    return member.state == State::kFailed && member.why.code() == Code::kLost;
  });
  if (!why.ok()) return Outcome{Verdict::kFailed, why};
  // The members that may have the outer hold still have to be a quorum; a silent member may have
  // it.
  if (votes_ != outer_votes_) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      left += votes_[i] && members_[i].state != State::kRefused ? 1U : 0U;
    }
    if (left < rule_.needed) return Outcome{Verdict::kGone, gone_};
  }
  // Until the configuration changes: server errors, closed clients; and, if all members are
  // required, one that is out of reach.
  why = why_too_many([this](const Member& member) {
    const bool out_of_reach = member.why.code() == Code::kUnreachable;
    return member.state == State::kFailed && !member.refuses() &&
           (rule_.one_first || !out_of_reach);
  });
  if (!why.ok()) return Outcome{Verdict::kFailed, why};
  return std::nullopt;
}

Status QuorumRound::temporary_failure() const {
  return why_too_many([](const Member& member) { return member.refuses(); });
}

bool QuorumRound::refusing_connections() const {
  const auto silent = [](const Member& member) {
    return member.state == State::kSilent ||
           (member.state == State::kFailed && member.why.reach() != Reach::kRefused);
  };
  return count(State::kFailed) > 0 && std::none_of(members_.begin(), members_.end(), silent);
}

Status QuorumRound::out_of_reach() const {
  std::string reasons;
  std::uint64_t cause = 0;
  std::size_t failed = 0;
  for (const Member& member : members_) {
    if (member.state != State::kFailed && member.state != State::kSilent) continue;
    reasons += (failed++ == 0 ? ": " : "; ") + member.why.message();
    if (cause == 0) cause = member.why.cause();
  }
  return Status::unreachable(std::to_string(members_.size() - failed) + " of the " +
                             std::to_string(members_.size()) +
                             " servers granted or refused the lock, and " +
                             std::to_string(rule_.needed) + " have to" + reasons)
      .caused_by(cause);
}

}  // namespace holdfast::sync
