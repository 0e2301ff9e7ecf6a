#include "locks/sync/operation/hold_release.h"

#include <utility>

#include "locks/base/trace.h"
#include "locks/lease/overview.h"
#include "locks/sync/recipes/keys.h"
#include "redis/base/mutex.h"

namespace holdfast::sync {

HoldRelease::HoldRelease(std::shared_ptr<const Context> context, SynchronizerPtr synchronizer,
                         Order order)
    : Release(std::move(context), synchronizer->name, order.owner, Role::kRelease),
      synchronizer_(std::move(synchronizer)),
      recipe_(*synchronizer_->recipe.holding),
      order_(order) {}

std::optional<int> HoldRelease::give_back(std::shared_ptr<const Context> context,
                                          SynchronizerPtr synchronizer, Order order) {
  const auto release =
      std::make_shared<HoldRelease>(std::move(context), std::move(synchronizer), order);
  lease::Releases& releases = release->context().keeper->releases;
  release->follow(
      releases.begin_giving_back(release->name(), order.owner, order.ending, {release}));
  if (!release->is(Plan::Kind::kPartial)) return std::nullopt;
  release->report_done();
  return release->plan_.remaining;
}

void HoldRelease::release_held(std::shared_ptr<const Context> context, SynchronizerPtr synchronizer,
                               OwnerNumber owner) {
  const auto release =
      std::make_shared<HoldRelease>(std::move(context), std::move(synchronizer), Order{owner});
  lease::Releases& releases = release->context().keeper->releases;
  if (const auto plan = releases.begin_of_held(release->name(), owner, {release})) {
    release->follow(*plan);
  }
}

// Without a caller.
void HoldRelease::follow(const Plan& plan) {
  plan_ = plan;
  if (is(Plan::Kind::kFinal)) run_alone(plan_.until);
}

// Not sent where the owner holds nothing, nor at once where a waiter of this client may get the
// lock in the same step.
bool HoldRelease::begin(TimePoint now) {
  using Leaves = lease::Releases::Caller;
  lease::Releases& releases = context().keeper->releases;
  lease::ReleaseStart start{shared_from_this(),
                            order_.deferred ? Leaves::kMayLeave : Leaves::kAwaits, now};
  plan_ = order_.block ? releases.end_block(name(), owner_, order_.ending, std::move(start))
                       : releases.begin(name(), owner_, order_.ending, std::move(start));
  sent_from = now;
  until_ = plan_.until;
  sent_before_ = plan_.repeated;
  deadline = give_up_ = after(now, context().command_timeout);
  awaits_login = !is(Plan::Kind::kPartial);
  if (!awaits_login) return true;
  const bool last = is(Plan::Kind::kFinal);
  if (!last || synchronizer_->has_waiters(context(), owner_)) {
    begin_apart();
    return false;
  }
  deferred = order_.deferred;
  return true;
}

void HoldRelease::begin_apart() {
  const MutexLock lock(mutex_);
  switch (plan_.kind) {
    case Plan::Kind::kNotOwned:
      if (!context().keeper->is_closed()) return finish({Verdict::kBusy});
      return finish({Verdict::kFailed, closed_status(name())});
    case Plan::Kind::kLost:
      // The hold is over by the client's clock; what remains of it on the server need not delay the
      // caller.
      if (!plan_.held_again) {
        const auto rest = std::make_shared<HoldRelease>(shared_context(), synchronizer_, order_);
        rest->plan_ = plan_;
        rest->take_back(context().command_timeout);
      }
      return gone(plan_.reason);
    case Plan::Kind::kDone:
      return finish({});
    case Plan::Kind::kUnderWay:
      return finish({Verdict::kFailed, under_way_status(name(), caller_.by_thread())});
    default:
      if (hand_over()) return;
      deferred = order_.deferred;
      send();
      await_writing();
  }
}

bool HoldRelease::post_first(Parker* here) {
  using Posted = client::DirectExchange::Posted;
  Posted way = Posted::kNotBegun;
  if (here != nullptr) way = client::DirectExchange(connection(), *here).post(shared_from_this());
  if (way == Posted::kNotBegun && !submit_first(here)) return false;
  const MutexLock lock(mutex_);
  if (way == Posted::kWritten) {
    defer_if_written(true);
  } else {
    await_writing();
  }
  return way != Posted::kWritten;
}

// A deferred release may be written by the thread that leads the connection, by now or later. Each
// side says so in writing_ first and then looks at what the other one has said,
// so one of them sees both: this thread, or written(), which has the loop call defer_if_written().
void HoldRelease::await_writing() {
  if (deferred) defer_if_written(writing_.exchange(Writing::kAwaited) == Writing::kDone);
}

void HoldRelease::defer_if_written(bool written) {
  if (deferred && written && !finished()) defer();
}

void HoldRelease::written() {
  if (writing_.exchange(Writing::kDone) == Writing::kAwaited) {
    context().timers->call(shared_from_this());
  }
}

// New operations of this client must not overtake waiters of other clients that the release wakes.
void HoldRelease::defer() {
  if (!context().keeper->releases.defer(name(), owner_, plan_)) return;
  life_ = Life::kLeft;
  wait::WaitRegistry& waits = *context().waits;
  const bool yields = recipe_.traits.waiting == Waiting::kInTurn && !waits.idle();
  in_flight_ = yields && waits.release_begins(channel());
  finish({});
  caller_ = {};
  if (backing_off_) rest();  // by another timer, without its caller
}

// The calls that are to be made without mutex_. Its own end is the answer for which new operations
// wait.
wait::Calls HoldRelease::take_calls() {
  const bool goes_on = life_ == Life::kLeft && backing_off_;
  if (in_flight_ && !goes_on) {
    in_flight_ = false;
    calls_.append(context().waits->release_answered(channel()));
  }
  return std::exchange(calls_, {});
}

// Not for a hold that may be under another field by now, nor for a lock that has to stay closed.
bool HoldRelease::hand_over() {
  const bool plain = plan_.other.empty() && plan_.closed_for(now()) == Millis(0);
  if (!plain || !recipe_.steps.transfer || shares_channels(name())) return false;
  const wait::WaiterPtr waiter = context().waits->next_waiter(channel(), now());
  next_waiter_ = waiter ? waiter->next_waiter() : nullptr;
  sends_text = SendsText::kNever;  // it might come behind what the waiter sends when it gives up
  if (!next_waiter_ ||
      !next_waiter_->accept_offer([this]() HOLDFAST_REQUIRES(mutex_) { send(); })) {
    next_waiter_.reset();
    sends_text = SendsText::kIfUnknown;
    return false;
  }
  // It was not sent: the next waiter has to try itself.
  if (finished()) {
    std::exchange(next_waiter_, nullptr)->offer_answered({Answer::Kind::kHeld}, {}, {});
  }
  return true;
}

void HoldRelease::send() {
  awaits_login = !next_waiter_;
  if (!next_waiter_ && life_ != Life::kPending) context().waits->expect(channel());
  Release::send();
}

void HoldRelease::cancel() {
  {
    const MutexLock lock(mutex_);
    if (!finished() && order_.deferred && is(Plan::Kind::kFinal)) defer();
    if (!finished() && is(Plan::Kind::kPartial)) {
      cancelled_ = true;
      report_done();
      if (std::exchange(backing_off_, false)) return finish({Verdict::kCancelled});
      return abandon();
    }
  }
  Release::cancel();
}

Exchange::About HoldRelease::about() {
  const MutexLock lock(mutex_);
  return {recipe_.traits.kind, owner_, plan_.remaining == 0};
}

void HoldRelease::time_is_up(TimePoint now) {
  Release::time_is_up(now);
  wait::Calls calls;
  {
    const MutexLock lock(mutex_);
    const bool awaited = life_ == Life::kAwaited;
    defer_if_written(writing_ == Writing::kDone);
    // Where its caller leaves only now, its answer is still to come.
    calls = awaited ? std::exchange(calls_, {}) : take_calls();
  }
  calls.run();
}

void HoldRelease::write(script::Writer& out) const {
  Step step{name(), {context().client_id, owner_}, plan_.remaining};
  if (next_waiter_) {
    const wait::NextWaiter::Terms terms = next_waiter_->terms();
    step.next = terms.owner_field;
    step.lease = terms.lease;
    return terms.recipe.steps.transfer.write(out, step);
  }
  if (step.count == 0) {  // one that leaves holds says no more than their number
    step.other = plan_.other;
    if (plan_.closed_until > TimePoint{}) step.stays = plan_.closed_for(now());
  }
  recipe_.release(out, step);
}

void HoldRelease::answered_here(resp::Reply&& reply, const client::Sent& sent) {
  answered(reply, sent);
  calls_.run();
}

void HoldRelease::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  // Both are called at the end, without this lock.
  NextWaiter next_waiter;
  wait::Calls calls;
  Answer answer{Answer::Kind::kHeld, Millis(0)};
  {
    const MutexLock lock(mutex_);
    // An answered command has been written, even if its caller has not been notified yet.
    defer_if_written(reply.ok() || writing_ == Writing::kDone);
    next_waiter = next_waiter_;
    sent_before_ = sent_before_ || sent.times > 1;
    if (cancelled_ && is(Plan::Kind::kPartial)) return finish({Verdict::kCancelled});
    if (next_waiter && reply.ok() && !reply.value().is_error()) {
      answer = next_waiter->terms().recipe.transferred(reply.value());
      if (answer.kind == Answer::Kind::kGranted) {
        Trace::record({TraceEntry::Step::kHandedOver, name().bytes(), name().side(), owner_});
      }
    }
    judge(reply, sent);
    calls = take_calls();
  }
  calls.run();
  if (!next_waiter) return;
  if (!reply.ok()) return next_waiter->on_failure(reply.status());
  Status why;  // refused once, it was not executed; an earlier sending may have been
  if (reply.value().is_error() && sent.times > 1) {
    why = error_status(reply.value().text(), name(), context().topology->text());
  }
  next_waiter->offer_answered(answer, sent, why);
}

void HoldRelease::answered(const resp::Reply& reply, const client::Sent& /*sent*/) {
  if (life_ == Life::kPending) return ended(End::kDone);
  // The owner's field is gone. If the release was sent before, and the lease cannot have ended
  // since, the first sending has released it. A release that leaves holds leaves the field, too.
  const bool done_before = is(Plan::Kind::kFinal) && sent_before_ && now() < plan_.trusted;
  if (reply.is_nil() && !done_before) {
    context().keeper->releases.done(name(), owner_, plan_, lease::kGone);
    return gone(lease::kGone);
  }
  report_done();
  // Without waiters there is nothing to do with a message that only this client has received:
  // spares the channel.
  wait::WaitRegistry& waits = *context().waits;
  const std::int64_t received = reply.integer();
  const bool others = !next_waiter_ && received >= 1 && (received > 1 || !waits.idle());
  const Waiting waiting = recipe_.traits.waiting;
  const bool one_goes_on = waiting == Waiting::kInTurn || waiting == Waiting::kBackOff;
  if (others && one_goes_on) {
    calls_ = waits.published(channel(), received - 1, context().clock.now());
  }
  finish({});
}

void HoldRelease::gone(const std::string& reason) {
  // The loss stays visible until the owner's next grant, if there can be one: each permit has
  // another owner number.
  if (recipe_.traits.has_permits) lease::owner_ended(*context().keeper, owner_);
  const Status why = Status::invalid(reason);
  finish({Verdict::kGone, why});
}

void HoldRelease::refused(std::string_view text) {
  // The next_waiter is signalled to try itself: it may have given up before a second attempt.
  const bool handing_over = std::exchange(next_waiter_, nullptr) != nullptr;
  if (handing_over) sends_text = SendsText::kAlways;
  // A hand-over may need memory that the server lacks, or its script; a release does not.
  const bool waits = is_temporary(text) && tries_again();
  if (handing_over && !waits) return send();
  Release::refused(text);
}

// Where the connection of a hand-over was refused, its waiter has learnt so, and tries by itself.
void HoldRelease::turned_away(const Status& why) {
  if (std::exchange(next_waiter_, nullptr)) sends_text = SendsText::kIfUnknown;
  // A last release waits until such errors pass; an inner one need not: see leave_pending().
  if (is(Plan::Kind::kPartial) && !is_temporary(why.word())) return leave_pending(why);
  Release::turned_away(why);
}

void HoldRelease::refused_for_good(const Status& why) {
  if (is(Plan::Kind::kPartial)) return leave_pending(why);
  Release::refused_for_good(why);
}

void HoldRelease::leave_pending(const Status& why) {
  if (is(Plan::Kind::kPartial)) {
    // The server need not have the smaller count: the last release frees the lock with any count,
    // and reports an error if it cannot.
    report_done();
    return finish({});
  }
  if (life_ == Life::kLeft) {
    context().keeper->releases.report_trouble(name(), owner_, plan_, why.message());
  }
  next_waiter_.reset();
  Release::leave_pending(why);
}

}  // namespace holdfast::sync
