#include "locks/sync/operation/acquire_machine.h"

#include <algorithm>
#include <utility>

#include "locks/lease/hold.h"

namespace holdfast::sync {

namespace {

// The server frees an expired key on the next access; its clock has a granularity of a millisecond.
constexpr Millis kAfterExpiry{2};
// For a key without a time limit, only a message shows a release, so try again now and then.
constexpr Millis kNoTtl{5000};
// A lease up to this, or twice the caller's, is not reported as long.
constexpr Millis kUsual{60000};

bool by_queue(AcquireMachine::Event::Kind kind) {
  using Kind = AcquireMachine::Event::Kind;
  return kind == Kind::kAhead || kind == Kind::kHead || kind == Kind::kTryNow ||
         kind == Kind::kTurn || kind == Kind::kOffer;
}

}  // namespace

AcquireMachine::Action AcquireMachine::resume(const Event& event, TimePoint now) {
  const bool answer = event.kind == Event::Kind::kAnswer;
  // An earlier hold is part of the grant now, or is gone.
  const bool settles = answer && std::exchange(takes_over_, false);
  Action action = over() ? after_end(event) : next(event, now);
  action.settles = settles;
  if (answer) note(event.answer, action);
  return action;
}

// The further content of an answer, also after the caller has left.
void AcquireMachine::note(const Answer& answer, Action& action) {
  if (answer.kind != Answer::Kind::kHeld) return;
  if (options_.by_count) action.left_over = answer.value.value_or(0);
  // A server does not report that its clock was set back, but every lease lasts longer.
  const Millis usual = std::max(kUsual, 2 * options_.lease);
  const bool waits = options_.blocking && !over() && options_.lease > Millis(0);
  const bool overlong = waits && answer.ttl > usual;
  if (minded_ || (!overlong && !answer.foreign)) return;
  minded_ = true;
  if (overlong) action.overlong = answer.ttl;
  action.foreign = answer.foreign;
}

// Handles events after the end.
AcquireMachine::Action AcquireMachine::after_end(const Event& event) {
  using Kind = Event::Kind;
  const bool granted = verdict_ == Verdict::kGranted;
  if (event.kind == Kind::kTryNow || event.kind == Kind::kTurn) {
    // With a permit it is forwarded, too: the message may be about another permit.
    if (!granted || options_.has_permits) return {Action::Verb::kForward};
  }
  if (event.kind == Kind::kCancel && granted && !given_back_) {
    given_back_ = true;
    // With `again`, another acquisition gives the hold back.
    if (!options_.again) return {Action::Verb::kGiveBack};
  }
  return {};
}

AcquireMachine::Action AcquireMachine::next(const Event& event, TimePoint now) {
  using Kind = Event::Kind;
  switch (event.kind) {
    case Kind::kBegun:
      return begun(event, now);
    case Kind::kFailed:
      return finish(Verdict::kFailed, event.why,
                    event.unknown && (open() || state_ == State::kKeeping));
    case Kind::kCancel:
      return finish(Verdict::kCancelled, {}, open());
    case Kind::kTime:
      return time(event, now);
    default:
      return replied(event, now);
  }
}

// Handles replies of the server and of the LeaseKeeper.
AcquireMachine::Action AcquireMachine::replied(const Event& event, TimePoint now) {
  using Kind = Event::Kind;
  in_doubt_ = in_doubt_ || (event.unknown && event.kind != Kind::kAnswer);
  switch (event.kind) {
    case Kind::kAnswer:
      return answered(event, now);
    case Kind::kRefused:
      return refused(event.why, now);
    case Kind::kKept:
      return kept(now);
    default:
      return by_queue(event.kind) ? queued(event, now) : acknowledged(event, now);
  }
}

// Handles the results of confirmations and probes.
AcquireMachine::Action AcquireMachine::acknowledged(const Event& event, TimePoint now) {
  using Kind = Event::Kind;
  const bool probed = std::exchange(probing_, false);
  if (!probed && state_ != State::kConfirming) return {};  // nothing was asked
  // During the probe, no attempt was sent.
  if (event.kind == Kind::kAskFailed) return finish(Verdict::kFailed, event.why, !probed);
  if (event.kind == Kind::kForgotten) return now < trusted_until_ ? attempt() : confirmed(now);
  if (event.kind == Kind::kConfirmed) return probed ? send() : confirmed(now);
  return probed ? refused(event.why, now) : unconfirmed(event.why, now);
}

// Handles the events of the queue.
AcquireMachine::Action AcquireMachine::queued(const Event& event, TimePoint now) {
  using Kind = Event::Kind;
  if (event.kind == Kind::kAhead) return ahead(event, now);
  if (event.kind != Kind::kHead) return notified(event, now);
  // The release that it waits for may have been answered before it joined.
  return held_back_ && !event.release_in_flight ? attempt() : sleep();
}

// No message says that the server has lost the counter.
TimePoint AcquireMachine::look_by(TimePoint at, TimePoint now) const {
  return options_.sets_up ? std::min(at, after(now, kNoTtl)) : at;
}

// Handles signals of other waiters of this client and of the channel.
AcquireMachine::Action AcquireMachine::notified(const Event& event, TimePoint now) {
  const bool asleep = state_ == State::kAsleep;
  if (event.kind == Event::Kind::kTryNow) {
    if (asleep && !stand_back_.under_way()) return try_now();
    signalled_ = true;
  } else if (event.kind == Event::Kind::kOffer) {
    state_ = State::kTrying;
    woken_ = false;
    stand_back_.end();
    count_ = 1;
    takes_over_ = takes_over_ || event.takes_over;
  } else if (asleep) {
    // For fewer permits than the last head wanted, its own attempt may have found an earlier end.
    retry_at_ = event.at == kNever ? kNever : std::min(retry_at_, look_by(event.at, now));
    return sleep();
  } else if (event.at != kNever) {
    signalled_ = true;  // the current attempt may have been too early
  }
  return {};
}

// A nested hold does not queue up. The waiters ahead may be gone before it has joined.
AcquireMachine::Action AcquireMachine::ahead(const Event& event, TimePoint now) {
  begun_ = now;
  if (event.count > 0) return attempt();
  if (event.at == kNever) {
    contended_ = true;
    Action action = queue_up(kNever);
    action.afresh = true;
    return action;
  }
  const bool turn_of_others = event.at > now && event.at < options_.deadline;
  if (turn_of_others) return queue_up(event.at);
  held_back_ = event.release_in_flight;
  return held_back_ ? queue_up(kNever) : attempt();
}

AcquireMachine::Action AcquireMachine::queue_up(TimePoint until) {
  joined_ = true;
  state_ = State::kAsleep;
  retry_at_ = until;
  return {Action::Verb::kJoin, std::min(retry_at_, options_.deadline)};
}

AcquireMachine::Action AcquireMachine::attempt() {
  state_ = State::kTrying;
  signalled_ = woken_ = false;
  stand_back_.end();
  return {Action::Verb::kTry, contended_ ? options_.deadline : kNever};
}

// After a signal.
AcquireMachine::Action AcquireMachine::try_now() {
  Action action = attempt();
  woken_ = true;
  return action;
}

AcquireMachine::Action AcquireMachine::begun(const Event& event, TimePoint now) {
  if (state_ == State::kNew) begun_ = now;
  state_ = State::kTrying;
  takes_over_ = takes_over_ || event.takes_over;
  // With `again`, it is not a further hold.
  if (count_ == 0) count_ = options_.again ? std::max(event.count - 1, 1) : event.count;
  probing_ = options_.confirms && !event.probed;
  return probing_ ? Action{Action::Verb::kProbe} : send();
}

AcquireMachine::Action AcquireMachine::send() const {
  Action action{Action::Verb::kSend};
  action.count = count_;
  // The deadline itself is checked separately.
  if (contended_ && options_.deadline != kNever) return action;
  action.connect_deadline = options_.connect_deadline;
  return action;
}

AcquireMachine::Action AcquireMachine::sleep() {
  state_ = State::kAsleep;
  return {Action::Verb::kSleep, std::min({retry_at_, options_.deadline, stand_back_.until()})};
}

AcquireMachine::Action AcquireMachine::sleep_unless_signalled() {
  return signalled_ && !stand_back_.under_way() ? try_now() : sleep();
}

AcquireMachine::Action AcquireMachine::answered(const Event& event, TimePoint now) {
  const bool to_offer = event.unknown;
  if (!to_offer) in_doubt_ = false;
  if (event.answer.kind == Answer::Kind::kGranted) return granted(event, now);
  refused_since_ = kNever;
  refusal_ = {};
  if (event.answer.kind == Answer::Kind::kGone)
    return finish(Verdict::kGone, Status::invalid(lease::kGoneAtAcquire));
  return held(event, now);
}

AcquireMachine::Action AcquireMachine::granted(const Event& event, TimePoint now) {
  in_doubt_ = false;
  grant_ = event.answer;
  sent_ = event.sent;
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
  action.count = count_;
  action.sent = sent_;
  return action;
}

AcquireMachine::Action AcquireMachine::unconfirmed(const Status& why, TimePoint now) {
  if (now >= trusted_until_) return confirmed(now);
  if (!options_.blocking) return finish(Verdict::kFailed, why, true);
  Action action = refused(why, now);
  action.give_back = true;
  action.count = count_;
  action.new_request = options_.undone_for_good && !over();
  return action;
}

AcquireMachine::Action AcquireMachine::kept(TimePoint now) {
  const bool by_lease = options_.lease > Millis(0) && grant_.ttl <= Millis(0);
  if (by_lease) retry_at_ = after(now, options_.lease);
  Action action = finish(Verdict::kGranted);
  action.value = grant_.value;
  return action;
}

AcquireMachine::Action AcquireMachine::held(const Event& event, TimePoint now) {
  const Millis ttl = event.answer.ttl;
  const bool was_sent = event.sent != TimePoint{};  // an offer of another owner's may not have been
  const bool too_late = options_.yields && was_sent && (woken_ || signalled_);
  contended_ = true;
  state_ = State::kAsleep;
  retry_at_ = look_by(after(now, ttl.count() < 0 ? kNoTtl : ttl + kAfterExpiry), now);
  if (!options_.blocking) return finish(Verdict::kBusy);
  if (now >= options_.deadline) return finish(Verdict::kTimedOut);
  if (options_.backoff) retry_at_ = std::min(retry_at_, now + options_.backoff->next());
  if (!joined_) {
    joined_ = true;
    return {Action::Verb::kJoin, std::min(retry_at_, options_.deadline)};
  }
  if (too_late) stand_back_.refused(now - event.sent, event.others, now);
  return sleep_unless_signalled();
}

AcquireMachine::Action AcquireMachine::refused(const Status& why, TimePoint now) {
  if (refused_since_ == kNever) refused_since_ = now;
  refusal_ = why;
  if (now >= options_.deadline) return finish(Verdict::kTimedOut, why);
  if (now >= refused_until()) return finish(Verdict::kFailed, why);
  retry_at_ = after(now, kRefusalBackoff);
  signalled_ = false;
  return sleep();
}

TimePoint AcquireMachine::refused_until() const {
  const bool till_deadline = options_.blocking && options_.deadline != kNever;
  return till_deadline ? kNever : after(refused_since_, options_.refusal_budget);
}

AcquireMachine::Action AcquireMachine::time(const Event& event, TimePoint now) {
  if (awaits_replicas()) return time_of_replicas(event.why, now);
  const bool trying = state_ == State::kTrying;
  if (untried() && now >= std::min(retry_at_, options_.deadline)) return attempt();
  if (now >= options_.deadline && (contended_ || !trying)) {
    return finish(Verdict::kTimedOut, refusal_, trying);
  }
  if (trying) return {Action::Verb::kSleep, contended_ ? options_.deadline : kNever};
  if (now >= retry_at_) return attempt();
  stand_back_.end_by(now);
  return sleep_unless_signalled();
}

// The server and its replicas have separate time-outs; a caller's latest moment ends them.
AcquireMachine::Action AcquireMachine::time_of_replicas(const Status& late, TimePoint now) {
  if (now < options_.latest) return {Action::Verb::kSleep, options_.latest};
  return contended_ ? finish(Verdict::kTimedOut, refusal_, true)
                    : finish(Verdict::kFailed, late, true);
}

AcquireMachine::Action AcquireMachine::finish(Verdict verdict, Status why, bool give_back) {
  const bool more = state_ == State::kKeeping && grant_.more;
  unsettled_ = signalled_ || open() || more;
  state_ = State::kOver;
  verdict_ = verdict;
  const bool leaves_place = has_place() && verdict != Verdict::kGranted;
  const bool gives_back = give_back || in_doubt_ || leaves_place || takes_over_;
  Action action{Action::Verb::kFinish, retry_at_, verdict, gives_back, std::move(why)};
  action.count = count_;
  if (joined_) action.leave = leave_reason(verdict);
  return action;
}

wait::LeaveReason AcquireMachine::leave_reason(Verdict verdict) const {
  if (unsettled_) return wait::LeaveReason::kTrying;
  return verdict == Verdict::kGranted ? wait::LeaveReason::kGranted : wait::LeaveReason::kGaveUp;
}

}  // namespace holdfast::sync
