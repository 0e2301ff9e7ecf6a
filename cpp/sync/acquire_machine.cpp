#include "sync/acquire_machine.h"

#include <algorithm>
#include <utility>

namespace holdfast::sync {

namespace {

// The server frees an expired key on the next access; its clock has a granularity of a millisecond.
constexpr Millis kAfterExpiry{2};
// For a key without a time limit: messages are the only sign, so look again now and then.
constexpr Millis kNoTtl{5000};
// Until the next attempt at a server that refuses to work for the moment.
constexpr Millis kRefusedRest{50};
// A lease up to this, or twice the caller's own, is nothing to wonder about.
constexpr Millis kUsual{60000};

bool by_waiters(AcquireMachine::Event::Kind kind) {
  using Kind = AcquireMachine::Event::Kind;
  return kind == Kind::kTryNow || kind == Kind::kTurn || kind == Kind::kOffer;
}

}  // namespace

AcquireMachine::Action AcquireMachine::resume(const Event& event, TimePoint now) {
  Action action = over() ? late(event) : next(event, now);
  if (event.kind == Event::Kind::kAnswer) note(event.answer, action);
  return action;
}

// What an answer tells beside its outcome, though the caller has left.
void AcquireMachine::note(const Answer& answer, Action& action) {
  if (answer.kind != Answer::Kind::kHeld) return;
  if (options_.by_count) action.left_over = answer.value.value_or(0);
  // A server whose clock was set back does not report it, but every lease lasts longer.
  const Millis usual = std::max(kUsual, 2 * options_.lease);
  const bool overlong = answer.ttl > usual;
  if (!overlong || minded_ || !options_.blocking || options_.lease == Millis(0)) return;
  minded_ = true;
  action.overlong = answer.ttl;
}

// What arrives after the end.
AcquireMachine::Action AcquireMachine::late(const Event& event) {
  using Kind = Event::Kind;
  const bool granted = verdict_ == Verdict::kGranted;
  if (event.kind == Kind::kTryNow || event.kind == Kind::kTurn) {
    // With a permit it is forwarded, too: the message may be about another permit.
    if (!granted || options_.has_permits) return {Action::Verb::kForward};
  }
  if (event.kind == Kind::kCancel && granted && !given_back_) {
    given_back_ = true;
    // Asked for again, the hold is another's to give back.
    if (!options_.again) return {Action::Verb::kGiveBack};
  }
  return {};
}

AcquireMachine::Action AcquireMachine::next(const Event& event, TimePoint now) {
  using Kind = Event::Kind;
  switch (event.kind) {
    case Kind::kStart:
      return attempt();
    case Kind::kQueueUp:
      return queue_up(event.at);
    case Kind::kFailed:
      return finish(Verdict::kFailed, event.why,
                    event.unknown && (open() || state_ == State::kKeeping));
    case Kind::kCancel:
      return finish(Verdict::kCancelled, {}, open());
    case Kind::kTime:
      return time(now);
    case Kind::kKept:
      return kept(now);
    default:
      return by_waiters(event.kind) ? told(event) : replied(event, now);
  }
}

// What the server, its replicas, or others tell.
AcquireMachine::Action AcquireMachine::replied(const Event& event, TimePoint now) {
  using Kind = Event::Kind;
  if (event.kind == Kind::kAnswer) return answered(event, now);
  if (event.kind == Kind::kRefused) {
    in_doubt_ = in_doubt_ || event.unknown;
    return refused(event.why, now);
  }
  if (event.kind == Kind::kConfirmed) return confirmed(now);
  if (event.kind == Kind::kForgotten) return now < trusted_until_ ? attempt() : confirmed(now);
  if (event.kind == Kind::kUnconfirmed) return unconfirmed(event.why, now);
  return told(event);
}

// What other waiters of this client, or the channel, tell.
AcquireMachine::Action AcquireMachine::told(const Event& event) {
  const bool asleep = state_ == State::kAsleep;
  if (event.kind == Event::Kind::kTryNow) {
    if (asleep) return attempt();
    signalled_ = true;
  } else if (event.kind == Event::Kind::kOffer) {
    state_ = State::kTrying;
  } else if (asleep) {
    retry_at_ = event.at;
    return sleep();
  } else if (event.at != kNever) {
    signalled_ = true;  // the attempt under way may have come too early
  }
  return {};
}

AcquireMachine::Action AcquireMachine::queue_up(TimePoint until) {
  told_ = joined_ = true;
  state_ = State::kAsleep;
  retry_at_ = until;
  return {Action::Verb::kJoin, std::min(retry_at_, options_.deadline)};
}

AcquireMachine::Action AcquireMachine::attempt() {
  state_ = State::kTrying;
  signalled_ = false;
  return {Action::Verb::kTry, told_ ? options_.deadline : kNever};
}

AcquireMachine::Action AcquireMachine::sleep() {
  state_ = State::kAsleep;
  return {Action::Verb::kSleep, std::min(retry_at_, options_.deadline)};
}

AcquireMachine::Action AcquireMachine::answered(const Event& event, TimePoint now) {
  in_doubt_ = false;
  if (event.answer.kind == Answer::Kind::kGranted) return granted(event, now);
  refused_since_ = kNever;
  refusal_ = {};
  if (event.answer.kind == Answer::Kind::kGone) return finish(Verdict::kGone);
  return held(event.answer.ttl, now);
}

AcquireMachine::Action AcquireMachine::granted(const Event& event, TimePoint now) {
  grant_ = event.answer;
  trusted_until_ = event.at;
  if (!options_.confirms) return confirmed(now);
  state_ = State::kConfirming;
  return {Action::Verb::kConfirm};
}

AcquireMachine::Action AcquireMachine::confirmed(TimePoint now) {
  if (now >= trusted_until_) return finish(Verdict::kExpired, {}, true);
  if (grant_.ttl.count() > 0) retry_at_ = after(now, grant_.ttl + kAfterExpiry);
  state_ = State::kKeeping;
  Action action{Action::Verb::kKeep};
  action.value = grant_.value;
  return action;
}

AcquireMachine::Action AcquireMachine::unconfirmed(const Status& why, TimePoint now) {
  if (now >= trusted_until_) return confirmed(now);
  if (!options_.blocking) return finish(Verdict::kFailed, why, true);
  Action action = refused(why, now);
  action.give_back = true;
  return action;
}

AcquireMachine::Action AcquireMachine::kept(TimePoint now) {
  const bool by_lease = options_.lease > Millis(0) && grant_.ttl <= Millis(0);
  if (by_lease) retry_at_ = after(now, options_.lease);
  Action action = finish(Verdict::kGranted);
  action.value = grant_.value;
  return action;
}

AcquireMachine::Action AcquireMachine::held(Millis ttl, TimePoint now) {
  told_ = true;
  state_ = State::kAsleep;
  retry_at_ = after(now, ttl.count() < 0 ? kNoTtl : ttl + kAfterExpiry);
  if (!options_.blocking) return finish(Verdict::kBusy);
  if (now >= options_.deadline) return finish(Verdict::kTimedOut);
  if (options_.backoff) retry_at_ = std::min(retry_at_, now + options_.backoff->next());
  if (!joined_) {
    joined_ = true;
    return {Action::Verb::kJoin, std::min(retry_at_, options_.deadline)};
  }
  if (signalled_) return attempt();
  return sleep();
}

AcquireMachine::Action AcquireMachine::refused(const Status& why, TimePoint now) {
  if (refused_since_ == kNever) refused_since_ = now;
  refusal_ = why;
  if (now >= options_.deadline) return finish(Verdict::kTimedOut, why);
  if (now >= refused_until()) return finish(Verdict::kFailed, why);
  retry_at_ = after(now, kRefusedRest);
  signalled_ = false;
  return sleep();
}

TimePoint AcquireMachine::refused_until() const {
  const bool till_deadline = options_.blocking && options_.deadline != kNever;
  return till_deadline ? kNever : after(refused_since_, options_.refusal_budget);
}

AcquireMachine::Action AcquireMachine::time(TimePoint now) {
  // The server and its replicas have their own time.
  if (state_ == State::kConfirming) return {Action::Verb::kSleep};
  const bool trying = state_ == State::kTrying;
  if (now >= options_.deadline && (told_ || !trying)) {
    return finish(Verdict::kTimedOut, refusal_, trying);
  }
  if (trying) return {Action::Verb::kSleep, told_ ? options_.deadline : kNever};
  return now >= retry_at_ ? attempt() : sleep();
}

AcquireMachine::Action AcquireMachine::finish(Verdict verdict, Status why, bool give_back) {
  const bool more = state_ == State::kKeeping && grant_.more;
  unsettled_ = signalled_ || open() || more;
  state_ = State::kOver;
  verdict_ = verdict;
  const bool leaves_place = has_place() && verdict != Verdict::kGranted;
  const bool gives_back = give_back || in_doubt_ || leaves_place;
  Action action{Action::Verb::kFinish, retry_at_, verdict, gives_back, std::move(why)};
  if (joined_) action.leave = leave_reason(verdict);
  return action;
}

wait::LeaveReason AcquireMachine::leave_reason(Verdict verdict) const {
  if (unsettled_) return wait::LeaveReason::kTrying;
  return verdict == Verdict::kGranted ? wait::LeaveReason::kGranted : wait::LeaveReason::kGaveUp;
}

}  // namespace holdfast::sync
