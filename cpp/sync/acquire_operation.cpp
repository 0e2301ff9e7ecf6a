#include "sync/acquire_operation.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/mutex.h"
#include "base/wake_batch.h"
#include "sync/keys.h"
#include "sync/preload.h"

namespace holdfast::sync {

namespace {

using WakePolicy = wait::WaitRegistry::WakePolicy;

// The rests of any two acquisitions differ.
std::optional<BackoffSequence> backoff(const Recipe& recipe, const AcquireRequest& request,
                                       const Context& context) {
  if (recipe.waiting() != Waiting::kBackOff) return std::nullopt;
  const auto moment = static_cast<std::uint64_t>(context.clock.now().time_since_epoch().count());
  const std::size_t who = std::hash<std::string>()(owner_field(context.client_id, request.owner));
  return BackoffSequence(request.acquire_options.backoff, who ^ moment);
}

// Of a caller that does not wait: enough for states that pass in a moment, as of a slot that is on
// its way to another node.
constexpr Millis kBriefly{200};

// For a server that restarts: what a caller with a deadline waits at least, and one that does not
// wait, so that it has the answer within 0.3 s.
constexpr Millis kRestart{300};
constexpr Millis kRestartBriefly{250};

Millis refusal_budget(const AcquireRequest& request, const Context& context) {
  if (request.refusal_budget == RefusalBudget::kNone) return Millis(0);
  return request.blocking ? context.command_timeout : std::min(context.command_timeout, kBriefly);
}

// What is asked for again has been confirmed before.
bool confirms(const Recipe& recipe, const AcquireRequest& request, const Context& context) {
  return context.acknowledger && recipe.takes() && !request.again;
}

Status closed_status() { return Status::closed("the client was closed"); }

// A queue is of one channel: of two names that share one, only the waiters of the first queue up.
bool in_turn(const Recipe& recipe, const LockName& name) {
  return recipe.waiting() == Waiting::kInTurn && !shares_channels(name);
}

WakePolicy wake_policy(const Recipe& recipe, const LockName& name) {
  switch (recipe.waiting()) {
    case Waiting::kTogether:
    case Waiting::kByCount:
      return WakePolicy::kTogether;
    case Waiting::kBackOff:
      return WakePolicy::kApart;
    case Waiting::kInTurn:
      return in_turn(recipe, name) ? WakePolicy::kInTurn : WakePolicy::kTogether;
    default:
      return WakePolicy::kInTurn;
  }
}

}  // namespace

TimePoint patience_of(bool blocking, TimePoint deadline, TimePoint now) {
  if (!blocking) return after(now, kRestartBriefly);
  return std::max(deadline, after(now, kRestart));
}

AcquireOperation::AcquireOperation(std::shared_ptr<const Context> context, const Recipe& recipe,
                                   AcquireRequest request)
    : Operation(std::move(context), request.name),
      recipe_(recipe),
      request_(std::move(request)),
      channel_(recipe.channel(name(), field(request_.owner)).bytes()),
      owner_(request_.owner),
      machine_({request_.blocking, request_.deadline, refusal_budget(request_, this->context()),
                recipe.waiting() == Waiting::kInLine &&
                    request_.acquire_options.queue_timeout > Millis(0),
                backoff(recipe, request_, this->context()),
                confirms(recipe, request_, this->context()),
                recipe.makes_holds() ? request_.lease.time : Millis(0), request_.again,
                recipe.has_permits(), recipe.waiting() == Waiting::kByCount}),
      stats_(*this->context().stats, {recipe.counted() && !request_.again, request_.part}) {}

void AcquireOperation::begin() {
  Event event{Event::Kind::kStart};
  {
    const MutexLock lock(mutex_);
    begun_ = now();
    if (in_turn(recipe_, name()) && request_.blocking &&
        context().keeper->count(name(), owner_) == 0) {
      seen_ = context().waits->sequence(channel_);
      const TimePoint until = context().waits->holds_back(channel_);
      const bool behind_others = until == kNever || (until > now() && until < request_.deadline);
      if (behind_others) event = {Event::Kind::kQueueUp, {}, until};
      if (until == kNever) seen_.reset();  // those ahead may be gone before it stands in line
      held_back_ = !behind_others && context().waits->owes(channel_);
      if (held_back_) event = {Event::Kind::kQueueUp, {}, kNever};
    }
  }
  deliver(std::move(event));
}

void AcquireOperation::time_is_up(TimePoint /*now*/) { deliver({Event::Kind::kTime}); }

void AcquireOperation::cancel() { deliver({Event::Kind::kCancel}); }

std::int64_t AcquireOperation::wants() const {
  return recipe_.waiting() == Waiting::kByCount ? request_.acquire_options.amount : 0;
}

TimePoint AcquireOperation::since() const {
  return recipe_.granting_message() ? begun_ : TimePoint::min();
}

void AcquireOperation::on_signal() { deliver({Event::Kind::kTryNow}); }

void AcquireOperation::on_message(std::string_view payload) {
  if (recipe_.granting_message() != payload) return on_signal();
  deliver({Event::Kind::kAnswer, {Answer::Kind::kGranted, Millis(0)}});
}

void AcquireOperation::on_turn(TimePoint retry_at) { deliver({Event::Kind::kTurn, {}, retry_at}); }

void AcquireOperation::on_failure(const Status& why) {
  deliver({Event::Kind::kFailed, {}, kNever, unreachable_status(why, name()), true});
}

void AcquireOperation::encode(std::string& out) const {
  recipe_.acquire(out, {name(), field(owner_), count_, request_.lease.time,
                        context().topology->publish_command(), by_text_, request_.acquire_options});
}

void AcquireOperation::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  Event event;
  {
    const MutexLock lock(mutex_);
    if (!reply.ok()) {
      // What was never sent cannot have been granted.
      event = {Event::Kind::kFailed,
               {},
               kNever,
               unreachable_status(reply.status(), name()),
               sent.times > 0};
    } else if (!reply.value().is_error()) {
      by_text_ = maybe_granted_ = false;
      event = granted(recipe_.acquired(reply.value()), sent);
    } else if (std::optional<Event> refusal = refused(reply.value().text(), sent)) {
      event = std::move(*refusal);
    } else {
      return;
    }
  }
  deliver(std::move(event));
}

std::optional<AcquireMachine::Event> AcquireOperation::refused(std::string_view text,
                                                               const client::Sent& sent) {
  maybe_granted_ = maybe_granted_ || sent.times > 1;
  const ErrorKind kind = error_kind(text);
  if (kind == ErrorKind::kUnknownScript && !by_text_ && !finished()) {
    by_text_ = true;
    const Status closed = submit();
    preload(context(), recipe_, name());
    if (closed.ok()) return std::nullopt;
    return Event{Event::Kind::kFailed, {}, kNever, closed, maybe_granted_};
  }
  const bool passes = kind == ErrorKind::kPasses;
  return Event{passes ? Event::Kind::kRefused : Event::Kind::kFailed,
               {},
               kNever,
               error_status(text, name(), context().topology->text()),
               maybe_granted_};
}

AcquireMachine::Event AcquireOperation::granted(const Answer& answer, const client::Sent& sent) {
  sent_ = sent.last;
  const bool ends = recipe_.grants_end();
  return {Event::Kind::kAnswer, answer,
          ends ? trusted_until(sent.last, request_.lease.time) : kNever};
}

void AcquireOperation::deliver(Event event) {
  const WakeBatch wakes;
  wait::Calls calls;
  {
    const MutexLock lock(mutex_);
    std::optional<Event> next = std::move(event);
    if (next->kind == Event::Kind::kAnswer) answered();
    while (next) next = perform(machine_.resume(*next, now()), calls);
  }
  calls.run();
}

// Whatever was there before the attempt is its grant now, or is there no more.
void AcquireOperation::answered() {
  if (std::exchange(takes_over_, false)) context().keeper->attempt_answered(name(), owner_);
}

std::optional<AcquireMachine::Event> AcquireOperation::perform(const Machine::Action& action,
                                                               wait::Calls& calls) {
  using Verb = Machine::Action::Verb;
  tell(action, calls);
  switch (action.verb) {
    case Verb::kTry:
      return attempt(action);
    case Verb::kJoin:
      stats_.waits();
      return join();
    case Verb::kConfirm:
      return confirm();
    case Verb::kKeep:
      return keep(action);
    case Verb::kSleep:
      sleep(action);
      break;
    case Verb::kFinish:
      conclude(action, calls);
      break;
    case Verb::kGiveBack:
      give_back_grant();
      break;
    default:
      break;
  }
  return std::nullopt;
}

void AcquireOperation::tell(const Machine::Action& action, wait::Calls& calls) {
  if (action.left_over) calls.append(context().waits->left_over(channel_, *action.left_over));
  if (action.overlong > Millis(0)) {
    context().keeper->mind_overlong(name(), request_.owner, action.overlong);
  }
  if (action.verb == Machine::Action::Verb::kForward) {
    calls.append(context().waits->not_for(channel_, *this));
  }
}

void AcquireOperation::sleep(const Machine::Action& action) {
  stats_.waits();
  if (action.give_back) take_back(count_ - 1);
  if (action.give_back && recipe_.undone_for_good()) take_slot();
  wake_at(action.until);
}

// What is taken back keeps its own.
void AcquireOperation::take_slot() {
  request_.acquire_options.request = context().slots->take();
  owner_ = request_.acquire_options.request->slot;
}

std::optional<AcquireMachine::Event> AcquireOperation::attempt(const Machine::Action& action) {
  wake_at(action.until);
  // Where the deadline counts, it is looked at as it is.
  patience = action.until != kNever ? kNever : first_patience();
  Status closed = begin_attempt();
  if (!closed.ok()) return Event{Event::Kind::kFailed, {}, kNever, std::move(closed), false};
  if (request_.blocking) seen_ = context().waits->sequence(channel_);
  closed = send();
  if (closed.ok()) return std::nullopt;
  return Event{Event::Kind::kFailed, {}, kNever, std::move(closed), false};
}

TimePoint AcquireOperation::first_patience() const {
  if (request_.patience) return *request_.patience;
  return patience_of(request_.blocking, request_.deadline, begun_);
}

Status AcquireOperation::begin_attempt() {
  const bool first = !std::exchange(begun_attempt_, true);
  const lease::AttemptPlan plan = context().keeper->begin_attempt(name(), owner_, first);
  if (plan.closed) return closed_status();
  takes_over_ = takes_over_ || plan.takes_over;
  if (count_ == 0) count_ = request_.again ? std::max(plan.count - 1, 1) : plan.count;
  return {};
}

// The attempt; where replicas are to confirm, only when it is known that they can be asked.
Status AcquireOperation::send() {
  const bool asks = confirms(recipe_, request_, context());
  if (!asks || context().acknowledger->probed(key())) return submit();
  probing_ = true;
  return context().acknowledger->probe(
      std::static_pointer_cast<AcquireOperation>(shared_from_this()));
}

std::optional<AcquireMachine::Event> AcquireOperation::confirm() {
  wake_at(kNever);
  const Status closed = context().acknowledger->confirm(
      std::static_pointer_cast<AcquireOperation>(shared_from_this()));
  if (closed.ok()) return std::nullopt;
  return Event{Event::Kind::kFailed, {}, kNever, closed, true};
}

std::optional<AcquireMachine::Event> AcquireOperation::join() {
  using Place = wait::WaitRegistry::Place;
  const auto self = std::static_pointer_cast<AcquireOperation>(shared_from_this());
  const Place place = context().waits->join(channel_, self, seen_, wake_policy(recipe_, name()));
  // A closing client first sets this state and then ends all waits.
  if (context().keeper->closing()) {
    return Event{Event::Kind::kFailed, {}, kNever, closed_status(), false};
  }
  // What it was to wait for may have come before it stood in line.
  if (held_back_ && place == Place::kHead && !context().waits->owes(channel_)) {
    return Event{Event::Kind::kTryNow};
  }
  switch (place) {
    case Place::kTryNow:
      return Event{Event::Kind::kTryNow};
    case Place::kHead:
      return Event{Event::Kind::kTurn, {}, machine_.retry_at()};
    case Place::kQueued:
      break;
  }
  return Event{Event::Kind::kTurn, {}, kNever};
}

void AcquireOperation::conclude(const Machine::Action& action, wait::Calls& calls) {
  stats_.ended(action.verdict, now() - begun_);
  if (action.verdict == Verdict::kGone) {
    context().keeper->lose(name(), owner_, "a reentrant acquire did not find it on the server");
  }
  abandon();
  if (action.give_back || takes_over_) take_back(count_ - 1);
  if (std::exchange(begun_attempt_, false)) context().keeper->acquisition_over();
  if (action.leave) {
    calls.append(context().waits->leave(channel_, *this, *action.leave, action.until));
  }
  finish({action.verdict, action.why, action.value});
}

}  // namespace holdfast::sync
