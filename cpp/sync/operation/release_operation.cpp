#include "sync/operation/release_operation.h"

#include <utility>

#include "base/mutex.h"
#include "base/trace.h"
#include "sync/operation/pending_release.h"
#include "sync/recipes/keys.h"

namespace holdfast::sync {

ReleaseOperation::ReleaseOperation(std::shared_ptr<const Context> context,
                                   SynchronizerPtr synchronizer, What what, Begun begun)
    : Operation(std::move(context), synchronizer->name()),
      synchronizer_(std::move(synchronizer)),
      recipe_(*synchronizer_->recipe().holding()),
      what_(what),
      channel_(recipe_.channel(name(), field(what_.owner)).bytes()),
      plan_(std::move(begun.plan)),
      sent_before_(plan_.repeated),
      give_up_(after(begun.at, this->context().command_timeout)) {}

void ReleaseOperation::begin() {
  const MutexLock lock(mutex_);
  switch (plan_.verdict) {
    case Plan::Verdict::kNotOwned:
      return not_owned();
    case Plan::Verdict::kLost:
      // The hold is over by the client's clock; what remains of it on the server need not delay the
      // caller.
      if (!plan_.held_again)
        PendingRelease::take_back(shared_context(), pending(), context().command_timeout);
      return gone(plan_.reason);
    case Plan::Verdict::kDone:
      return finish({});
    case Plan::Verdict::kUnderWay:
      return finish({Verdict::kFailed, under_way_status(name(), by_thread())});
    case Plan::Verdict::kFinal:
      resume_entry();
      if (may_hand_over() && hand_over()) return;
      deferred = what_.deferred;
      break;
    case Plan::Verdict::kPartial:
      break;
  }
  send();
  await_writing();
}

void ReleaseOperation::resume() {
  const MutexLock lock(mutex_);
  waited_for_here();
  if (plan_.verdict != Plan::Verdict::kFinal) return;
  deferred = what_.deferred;
  resume_entry();
  if (caller_left()) {
    let_caller_go({});
  } else {
    await_writing();
  }
}

// A newer command of its owner goes first.
void ReleaseOperation::resume_entry() {
  const auto& self = shared_from_this();
  if (!context().keeper->releases().resume(name(), what_.owner, plan_.serial, self)) revoke();
}

// If a deferred command is written later, written() calls defer_if_written() again.
void ReleaseOperation::await_writing() {
  if (deferred) defer_if_written(writing_.exchange(Writing::kAwaited) == Writing::kDone);
}

void ReleaseOperation::not_owned() {
  if (!context().keeper->closed()) return finish({Verdict::kBusy});
  finish({Verdict::kFailed, closed_status(name())});
}

void ReleaseOperation::defer_if_written(bool written) {
  if (deferred && written && !finished()) defer();
}

void ReleaseOperation::written() {
  if (writing_.exchange(Writing::kDone) == Writing::kAwaited) {
    context().timers->call(shared_from_this());
  }
}

// New operations of this client must not overtake waiters of other clients that the release wakes.
void ReleaseOperation::defer() {
  plan_.deferred = context().keeper->releases().defer(name(), what_.owner, plan_.serial);
  if (!caller_left()) return;
  in_flight_ = recipe_.waiting() == Waiting::kInTurn && context().waits->release_begins(channel_);
  let_caller_go({});
  if (backing_off_) back_off();  // by another timer, without its caller
}

void ReleaseOperation::end(Outcome outcome) {
  if (std::exchange(in_flight_, false)) calls_.append(context().waits->release_answered(channel_));
  finish(std::move(outcome));
}

// Not for a hold that may be under another field by now, nor for a lock that has to stay closed.
bool ReleaseOperation::may_hand_over() const {
  const bool plain = plan_.other.empty() && plan_.closed_for(now()) == Millis(0);
  return plain && recipe_.transfers() && !shares_channels(name());
}

bool ReleaseOperation::hand_over() {
  const wait::WaiterPtr waiter = context().waits->next_waiter(channel_, now());
  next_waiter_ = waiter ? waiter->next_waiter() : nullptr;
  sends_text = SendsText::kNever;  // it might come behind what the waiter sends when it gives up
  if (!next_waiter_ ||
      !next_waiter_->accept_offer([this]() HOLDFAST_REQUIRES(mutex_) { send(); })) {
    next_waiter_.reset();
    sends_text = SendsText::kIfUnknown;
    return false;
  }
  // It was not sent: the next waiter has to try itself.
  if (finished()) std::exchange(next_waiter_, nullptr)->offer_answered({Answer::Kind::kHeld}, {});
  return true;
}

void ReleaseOperation::send() {
  wake_at(kNever);
  backing_off_ = false;
  if (!next_waiter_) context().waits->expect(channel_);
  const Status refused = submit();
  if (!refused.ok()) failed(refused);
}

void ReleaseOperation::back_off() {
  backing_off_ = true;
  wake_at(after(now(), kRefusalBackoff));
}

void ReleaseOperation::cancel() {
  const MutexLock lock(mutex_);
  if (finished()) return;
  if (what_.deferred && plan_.verdict == Plan::Verdict::kFinal) defer();
  if (caller_left()) return;
  cancelled_ = true;
  if (plan_.verdict == Plan::Verdict::kPartial) {
    context().keeper->releases().done(name(), what_.owner, plan_);
    return abandon();
  }
  if (!backing_off_) return;  // complete() follows
  leave_pending(true);
  finish({Verdict::kCancelled});
}

Exchange::About ReleaseOperation::about() {
  const MutexLock lock(mutex_);
  return {recipe_.kind(), what_.owner, plan_.remaining == 0};
}

void ReleaseOperation::time_is_up(TimePoint /*now*/) {
  wait::Calls calls;
  {
    const MutexLock lock(mutex_);
    if (finished() && !caller_left()) return;
    if (cancelled_) return finish({Verdict::kCancelled});
    if (backing_off_) {
      send();
    } else {
      defer_if_written(writing_ == Writing::kDone);
    }
    calls = std::exchange(calls_, {});
  }
  calls.run();
}

PendingRelease::What ReleaseOperation::pending() const {
  PendingRelease::Of of{name(), what_.owner};
  of.plan = plan_;
  return PendingRelease::release_of(shared_context(), recipe_, std::move(of));
}

// It goes on without its caller, unless a newer command has taken its place.
void ReleaseOperation::leave_pending(bool refused_for_now) {
  PendingRelease::resume(shared_context(), pending(), plan_.serial, refused_for_now);
}

resp::ReplyKinds ReleaseOperation::encode(std::string& out, bool by_text) const {
  Step step{name(), {context().client_id, what_.owner}, plan_.remaining};
  script::Writer writer = context().writer(out, by_text);
  if (next_waiter_) {
    const std::string next = next_waiter_->owner_field();
    step.next = next;
    step.lease = next_waiter_->lease_time();
    next_waiter_->recipe().steps().transfer.write(writer, step);
  } else {
    add_plan(step, plan_, context());
    recipe_.release(writer, step);
  }
  return writer.replies();
}

void ReleaseOperation::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  NextWaiter next_waiter;
  wait::Calls calls;
  Answer answer{Answer::Kind::kHeld, Millis(0)};
  {
    const MutexLock lock(mutex_);
    // An answered command has been written, even if its caller has not been notified yet.
    defer_if_written(reply.ok() || writing_ == Writing::kDone);
    next_waiter = next_waiter_;
    sent_before_ = sent_before_ || sent.times > 1;
    if (cancelled_ && plan_.verdict == Plan::Verdict::kPartial) {
      return finish({Verdict::kCancelled});
    }
    if (!reply.ok()) {
      failed(unreachable_status(reply.status(), name()));
    } else if (reply.value().is_error()) {
      refused(reply.value().text());
    } else {
      if (next_waiter) answer = next_waiter->recipe().transferred(reply.value());
      if (answer.kind == Answer::Kind::kGranted) trace_hand_over();
      answered(reply.value());
    }
    next_waiter_.reset();
    calls = std::exchange(calls_, {});
  }
  calls.run();
  if (next_waiter) answer_offer(*next_waiter, answer, reply, sent);
}

void ReleaseOperation::trace_hand_over() const {
  Trace::record({TraceEntry::Step::kHandedOver, name().bytes(), name().side(), what_.owner});
}

void ReleaseOperation::answer_offer(wait::NextWaiter& next_waiter, const Answer& answer,
                                    const Result<resp::Reply>& reply,
                                    const client::Sent& sent) const {
  if (!reply.ok()) return next_waiter.on_failure(reply.status());
  const bool in_doubt = reply.value().is_error() && sent.times > 1;
  if (!in_doubt) return next_waiter.offer_answered(answer, sent);
  next_waiter.offer_in_doubt(
      error_status(reply.value().text(), name(), context().topology->text()));
}

wait::Calls ReleaseOperation::published(const Context& context, const Recipe& recipe,
                                        const std::string& channel, std::int64_t reply) {
  const Waiting waiting = recipe.waiting();
  const bool yields = waiting == Waiting::kInTurn || waiting == Waiting::kBackOff;
  if (reply < 1 || !yields) return {};
  return context.waits->published(channel, reply - 1, context.clock.now());
}

void ReleaseOperation::answered(const resp::Reply& reply) {
  // Gone, but sent before, and the lease cannot have ended since: the first sending has released
  // it. A release that leaves holds also leaves the field, also when repeated.
  const bool by_first =
      plan_.verdict == Plan::Verdict::kFinal && sent_before_ && now() < plan_.trusted;
  if (!reply.is_nil() || by_first) {
    context().keeper->releases().done(name(), what_.owner, plan_);
    if (!next_waiter_) calls_ = published(context(), recipe_, channel_, reply.integer());
    return end({});
  }
  context().keeper->releases().found_nothing(name(), what_.owner, plan_, lease::kGone);
  gone(lease::kGone);
}

void ReleaseOperation::gone(const std::string& reason) {
  // The loss stays visible until the owner's next grant, if there can be one.
  if (!recipe_.owners_return()) context().keeper->owner_ended(what_.owner);
  end({Verdict::kGone, Status::invalid(reason)});
}

void ReleaseOperation::refused(std::string_view text) {
  // The next_waiter is signalled to try itself: it may have given up before a second attempt.
  const bool handing_over = std::exchange(next_waiter_, nullptr) != nullptr;
  if (handing_over) sends_text = SendsText::kAlways;
  const bool passes = is_temporary(text);
  if (passes && !cancelled_ && now() < give_up_) {
    return back_off();
  }
  // A hand-over may need memory that the server lacks, or its script; a release does not.
  if (handing_over) return send();
  const Status why = error_status(text, name(), context().topology->text());
  const bool for_good = !passes && plan_.verdict == Plan::Verdict::kFinal;
  if (!for_good) return failed(why);
  using End = lease::Releases::End;
  context().keeper->releases().ended(name(), what_.owner, plan_.serial, End::kRefused,
                                     why.message());
  end({Verdict::kFailed, why});
}

void ReleaseOperation::failed(const Status& why) {
  if (why.code() == Code::kRevoked) {
    // The call's command was, for this one. Else its owner has acquired the lock again, and the
    // result of that counts.
    return revoked() ? end({}) : send();
  }
  if (plan_.verdict == Plan::Verdict::kPartial && why.code() != Code::kClosed) {
    // The server need not have the smaller count: the last release frees the lock with any count,
    // and reports an error if it cannot.
    context().keeper->releases().done(name(), what_.owner, plan_);
    return finish({});
  }
  if (plan_.verdict == Plan::Verdict::kFinal && why.code() != Code::kClosed) {
    if (caller_left()) {
      context().keeper->releases().report_trouble(name(), what_.owner, plan_, why.message());
    }
    leave_pending(why.code() == Code::kServer);
  }
  end({Verdict::kFailed, why});
}

}  // namespace holdfast::sync
