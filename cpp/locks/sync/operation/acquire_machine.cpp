#include "locks/sync/operation/acquire_machine.h"

#include <algorithm>
#include <utility>

#include "locks/lease/hold.h"
#include "locks/sync/operation/replica_acknowledger.h"

namespace holdfast::sync {

namespace {

// The server frees an expired key on the next access; its clock has a granularity of a millisecond.
constexpr Millis kAfterExpiry{2};
// For a key without a time limit, only a message shows a release, so try again now and then.
constexpr Millis kNoTtl{5000};
// A lease up to this, or twice the caller's, is not reported as long.
constexpr Millis kUsual{60000};

}  // namespace

// ---- Attempts

// A nested hold does not queue up.
void AcquireMachine::start(TimePoint now, const Ahead& ahead) {
  if (over()) return;
  if (ahead.nested) return attempt();
  if (ahead.until == kNever) {
    contended_ = true;
    return join(true);  // the waiters ahead may be gone before it has joined
  }
  const bool turn_of_others = ahead.until > now && ahead.until < options_.deadline;
  if (turn_of_others) {
    retry_at_ = ahead.until;
    return join();
  }
  held_back_ = ahead.release_in_flight;
  held_back_ ? join() : attempt();
}

void AcquireMachine::sent(const Begun& begun) {
  state_ = State::kTrying;
  takes_over_ = begun.takes_over;
  count_ = begun.count;
}

void AcquireMachine::attempt(bool woken) {
  state_ = State::kTrying;
  signalled_ = false;
  woken_ = woken;
  stand_back_.end();
  const Result<Begun> begun = driver_.begin_attempt(contended_ ? options_.deadline : kNever);
  if (!begun.ok()) return finish(Verdict::kFailed, begun.status());
  takes_over_ = takes_over_ || begun.value().takes_over;
  if (count_ == 0) count_ = begun.value().count;  // a later attempt is for the hold of the first
  probing_ = options_.confirms && !begun.value().probed;
  probing_ ? asked(driver_.probe()) : send();
}

void AcquireMachine::send() {
  // The deadline itself is checked separately.
  const bool counts = contended_ && options_.deadline != kNever;
  const Status closed = driver_.send(count_, counts ? kNever : options_.connect_deadline);
  if (!closed.ok()) finish(Verdict::kFailed, closed);
}

// ---- What the server says

void AcquireMachine::answered(TimePoint now, const Response& response) {
  const Answer& answer = response.answer;
  // An earlier hold is part of the grant now, or is gone.
  if (std::exchange(takes_over_, false)) driver_.settled();
  if (answer.kind == Answer::Kind::kHeld && !reported_) {
    reported_ = answer.foreign || overlong(now, answer.ttl);
    if (reported_) driver_.report(answer);
  }
  if (over()) return;
  if (!response.to_offer || answer.kind == Answer::Kind::kGranted) in_doubt_ = false;
  if (answer.kind == Answer::Kind::kGranted) {
    grant_ = response;
    if (!options_.confirms) return confirmed(now);
    state_ = State::kConfirming;
    return asked(driver_.confirm());
  }
  refused_since_ = kNever;
  refusal_ = {};
  if (answer.kind == Answer::Kind::kHeld) return held(now, response);
  // An earlier sending may have been granted before the server had other ones.
  if (answer.kind == Answer::Kind::kObjected) return finish(Verdict::kObjected, {}, true);
  finish(Verdict::kGone, Status::invalid(lease::kGoneAtAcquire));
}

// A server does not report that its clock was set back, but every lease lasts longer. That is no
// matter for a caller that does not wait for its end.
bool AcquireMachine::overlong(TimePoint now, Millis ttl) const {
  const bool waits = !over() && options_.blocking && now < options_.deadline;
  return waits && options_.lease > Millis(0) && ttl > std::max(kUsual, 2 * options_.lease);
}

void AcquireMachine::held(TimePoint now, const Response& response) {
  const Millis ttl = response.answer.ttl;
  const bool was_sent = response.sent != TimePoint{};
  const bool too_late = options_.yields && was_sent && (woken_ || signalled_);
  contended_ = true;
  state_ = State::kAsleep;
  retry_at_ = look_by(after(now, ttl.count() < 0 ? kNoTtl : ttl + kAfterExpiry), now);
  if (!options_.blocking) return finish(Verdict::kBusy);
  if (now >= options_.deadline) return finish(Verdict::kTimedOut);
  if (options_.backoff) retry_at_ = std::min(retry_at_, now + options_.backoff->next());
  if (!joined_) return join();
  if (too_late) stand_back_.refused(now - response.sent, response.others, now);
  sleep_unless_signalled();
}

TimePoint AcquireMachine::look_by(TimePoint at, TimePoint now) const {
  return options_.sets_up ? std::min(at, after(now, kNoTtl)) : at;
}

void AcquireMachine::refused(TimePoint now, const Status& why, bool unknown) {
  if (over()) return;
  in_doubt_ = in_doubt_ || unknown;
  back_off(now, why, false);
}

// Before the next attempt, if there is time for one.
void AcquireMachine::back_off(TimePoint now, const Status& why, bool take_back) {
  if (refused_since_ == kNever) refused_since_ = now;
  refusal_ = why;
  if (now >= options_.deadline) return finish(Verdict::kTimedOut, why, take_back);
  const bool till_deadline = options_.blocking && options_.deadline != kNever;
  if (!till_deadline && now >= after(refused_since_, options_.refusal_budget)) {
    return finish(Verdict::kFailed, why, take_back);
  }
  retry_at_ = after(now, kRefusalBackoff);
  signalled_ = false;
  if (take_back) driver_.take_back(count_ - 1, options_.undone_for_good);
  sleep();
}

void AcquireMachine::failed(TimePoint /*now*/, const Status& why, bool unknown) {
  if (!over()) finish(Verdict::kFailed, why, unknown && open());
}

// ---- What replicas say

// A probe or a confirmation, which needs an open client.
void AcquireMachine::asked(const Status& closed) {
  if (!closed.ok()) finish(Verdict::kFailed, closed, !std::exchange(probing_, false));
}

void AcquireMachine::acknowledged(TimePoint now, const Acknowledgement& outcome) {
  using Kind = Acknowledgement::Kind;
  if (over()) return;
  const bool probed = std::exchange(probing_, false);
  if (!probed && state_ != State::kConfirming) return;  // nothing was asked
  const bool late = !probed && now >= grant_.trusted_until;
  switch (outcome.kind) {
    case Kind::kConfirmed:
      return probed ? send() : confirmed(now);
    case Kind::kFailed:
      return finish(Verdict::kFailed, outcome.why, !probed);  // before a probe, none was sent
    case Kind::kGone:
      return late ? finish(Verdict::kExpired, {}, true) : attempt();
    case Kind::kRefused:
      if (late) return finish(Verdict::kExpired, {}, true);
      if (!probed && !options_.blocking) return finish(Verdict::kFailed, outcome.why, true);
      return back_off(now, outcome.why, !probed);
  }
}

void AcquireMachine::confirmed(TimePoint now) {
  if (now >= grant_.trusted_until) return finish(Verdict::kExpired, {}, true);
  const Millis ttl = grant_.answer.ttl;
  if (ttl > Millis(0)) retry_at_ = after(now, ttl + kAfterExpiry);
  state_ = State::kKeeping;
  const Status closed = driver_.keep(grant_, count_);
  if (!closed.ok()) return finish(Verdict::kFailed, closed, true);
  if (ttl <= Millis(0) && options_.lease > Millis(0)) retry_at_ = after(now, options_.lease);
  finish(Verdict::kGranted);
}

// ---- The queue

void AcquireMachine::join(bool afresh) {
  using Where = wait::WaitRegistry::Place;
  joined_ = true;
  state_ = State::kAsleep;
  const Result<Place> place = driver_.join(afresh);
  if (!place.ok()) return finish(Verdict::kFailed, place.status());
  const auto [where, release_in_flight] = place.value();
  if (where == Where::kTryNow) return attempt(true);
  // The release that it waits for may have been answered before it joined.
  if (where == Where::kHead && held_back_ && !release_in_flight) return attempt();
  if (where == Where::kQueued) retry_at_ = kNever;
  sleep();
}

void AcquireMachine::signal(TimePoint /*now*/) {
  if (over()) return signal_after_end();
  if (state_ == State::kAsleep && !stand_back_.under_way()) return attempt(true);
  signalled_ = true;
}

void AcquireMachine::turn(TimePoint now, TimePoint held_until) {
  if (over()) return signal_after_end();
  if (state_ != State::kAsleep) {
    signalled_ = signalled_ || held_until != kNever;  // the current attempt may be too early
    return;
  }
  // For fewer permits than the last head wanted, its own attempt may have found an earlier end.
  retry_at_ = held_until == kNever ? kNever : std::min(retry_at_, look_by(held_until, now));
  sleep();
}

// With a permit it is for the others, too: the message may be about another permit.
void AcquireMachine::signal_after_end() {
  if (verdict_ != Verdict::kGranted || options_.has_permits) driver_.pass_on();
}

void AcquireMachine::offer(bool takes_over) {
  state_ = State::kTrying;
  woken_ = false;
  stand_back_.end();
  count_ = 1;
  takes_over_ = takes_over_ || takes_over;
}

// ---- Time

void AcquireMachine::time_is_up(TimePoint now, const Status& late) {
  if (over()) return;
  if (state_ == State::kConfirming || probing_) {
    // The server and its replicas have separate time-outs; a caller's latest moment ends them.
    if (now < options_.latest) return driver_.sleep_until(options_.latest);
    return contended_ ? finish(Verdict::kTimedOut, refusal_, true)
                      : finish(Verdict::kFailed, late, true);
  }
  const bool trying = state_ == State::kTrying;
  // Others go first, and it has not tried yet: the lock may be free.
  const bool untried = !contended_ && count_ == 0;
  if (untried && now >= std::min(retry_at_, options_.deadline)) return attempt();
  if (now >= options_.deadline && (contended_ || !trying)) {
    return finish(Verdict::kTimedOut, refusal_, trying);
  }
  if (trying) return driver_.sleep_until(contended_ ? options_.deadline : kNever);
  if (now >= retry_at_) return attempt();
  stand_back_.end_by(now);
  sleep_unless_signalled();
}

void AcquireMachine::sleep() {
  state_ = State::kAsleep;
  driver_.sleep_until(std::min({retry_at_, options_.deadline, stand_back_.until()}));
}

void AcquireMachine::sleep_unless_signalled() {
  signalled_ && !stand_back_.under_way() ? attempt(true) : sleep();
}

// ---- The end

void AcquireMachine::cancel(TimePoint /*now*/) {
  if (!over()) return finish(Verdict::kCancelled, {}, open());
  const bool granted = verdict_ == Verdict::kGranted;
  if (granted && !std::exchange(given_back_, true)) driver_.give_back();
}

void AcquireMachine::finish(Verdict verdict, Status why, bool take_back) {
  const bool granted = verdict == Verdict::kGranted;
  const bool more = state_ == State::kKeeping && grant_.answer.more;
  unsettled_ = signalled_ || open() || more;
  state_ = State::kOver;
  verdict_ = verdict;
  Rest rest;
  rest.retry_at = retry_at_;
  const bool leaves_place = options_.in_line && contended_ && !granted;
  if (take_back || in_doubt_ || leaves_place || takes_over_) rest.take_back = count_ - 1;
  if (joined_) {
    rest.leave = unsettled_ ? wait::LeaveReason::kTrying
                 : granted  ? wait::LeaveReason::kGranted
                            : wait::LeaveReason::kGaveUp;
  }
  Outcome outcome{verdict, std::move(why)};
  if (granted) outcome.value = grant_.answer.value;
  driver_.finish(std::move(outcome), rest);
}

}  // namespace holdfast::sync
