#include "sync/operation/acquire_operation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/shown.h"
#include "base/trace.h"
#include "base/wake_batch.h"

namespace holdfast::sync {

AcquireOperation::AcquireOperation(AcquireAccount account, const Begun& begun)
    : Operation(account.context(), account.request().name()),
      account_(std::move(account)),
      channel_(recipe().channel(name(), owner_field()).bytes()),
      machine_(machine_options(request(), context(), begun.at)),
      stats_(*context().stats, request().stats()),
      begun_(begun.at),
      time_(request().time(begun.at)) {
  if (begun.sent) prepare(machine_.resume(this->begun(*begun.sent), begun_));
}

void AcquireOperation::begin() {
  const Status refused = open();
  if (!refused.ok()) return deliver(Event::of(Event::Kind::kFailed, refused));
  start();
}

void AcquireOperation::start() {
  if (wait_for_renewal()) return;
  catch_up();
  deliver(ahead());
}

// The server has answered it by then, unless it answers nothing.
bool AcquireOperation::wait_for_renewal() {
  const MutexLock lock(mutex_);
  const TimePoint until = std::min(time_.latest(), after(begun_, context().command_timeout));
  held_up_ = account_.held_up() && now() < until;
  if (held_up_) wake_at(std::min(after(now(), kHeldUp), until));
  return held_up_;
}

bool AcquireOperation::was_held_up() {
  const MutexLock lock(mutex_);
  return std::exchange(held_up_, false) && !finished();
}

Status AcquireOperation::open() {
  const MutexLock lock(mutex_);
  return account_.open() ? account_.refuse() : under_way_status(name(), by_thread());
}

// A grant that another thread records meanwhile is not the handler's to use: the call, which will
// report it, has not returned.
bool AcquireOperation::stopped_by(Interrupt& interrupt) {
  std::optional<lease::Attempt> call;
  {
    const MutexLock lock(mutex_);
    if (account_.excludes()) call.emplace(account_.call());
  }
  if (call) call->begin_beside();
  return interrupt.pending();
}

// Messages from before the attempt, the client's own among them, are no reason for another one.
void AcquireOperation::catch_up() const {
  if (!context().waits->sequence(channel_)) return;
  if (const auto messages = context().topology->subscriber(channel_)) messages->catch_up();
}

TimePoint AcquireOperation::since() const {
  return recipe().granting_message() ? begun_ : TimePoint::min();
}

std::int64_t AcquireOperation::wants() const {
  return by_count(recipe(), name()) ? request().amount : 0;
}

void AcquireOperation::on_message(std::string_view payload) {
  if (recipe().granting_message() != payload) return on_signal();
  deliver({Event::Kind::kAnswer, {Answer::Kind::kGranted, Millis(0)}});
}

resp::ReplyKinds AcquireOperation::encode(std::string& out, bool by_text) const {
  script::Writer writer = context().writer(out, by_text);
  recipe().acquire(writer, request().step(context(), count_));
  return writer.replies();
}

void AcquireOperation::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  if (!reply.ok()) {
    const Status why = late(reply.status());
    // What was never sent cannot have been granted.
    return deliver(Event::of(Event::Kind::kFailed, why, sent.times > 0));
  }
  if (!reply.value().is_error()) return answered(recipe().acquired(reply.value()), sent);
  const std::string_view text = reply.value().text();
  const Status why = error_status(text, name(), context().topology->text());
  // An earlier sending, whose answer was lost, may have been executed.
  deliver(Event::of(is_temporary(text) ? Event::Kind::kRefused : Event::Kind::kFailed, why,
                    sent.times > 1));
}

void AcquireOperation::time_is_up(TimePoint now) {
  if (was_held_up()) return start();
  Event event{Event::Kind::kTime};
  if (now >= time_.latest()) {
    event.why = late(Status::unreachable("no reply from " + context().topology->text()));
  }
  deliver(std::move(event));
}

// Why a command has no reply. A member's caller has the time, and names it.
Status AcquireOperation::late(const Status& why) const {
  const bool all_time = now() >= time_.deadline() && why.code() == Code::kUnreachable;
  return all_time && !request().member ? time_.late(name().bytes(), why)
                                       : unreachable_status(why, name());
}

void AcquireOperation::answered(const Answer& answer, const client::Sent& sent) {
  if (answer.kind == Answer::Kind::kHeld) {
    Trace::record({TraceEntry::Step::kRefused, name().bytes(), name().side(), request().owner});
  }
  deliver(this->answer(answer, sent));
}

AcquireMachine::Event AcquireOperation::answer(const Answer& answer,
                                               const client::Sent& sent) const {
  Event event{Event::Kind::kAnswer, answer};
  event.sent = sent.last;
  if (recipe().grants_end()) event.at = trusted_until(sent.last, request().lease.time);
  if (answer.kind == Answer::Kind::kHeld) request().synchronizer->refused(answer.foreign);
  request().report_other(context(), answer);
  return event;
}

void AcquireOperation::deliver(Event event) {
  const WakeBatch wakes;
  wait::Calls calls;
  {
    const MutexLock lock(mutex_);
    Next next = std::move(event);
    while (next) next = perform(machine_.resume(*next, now()), calls);
  }
  calls.run();
}

AcquireOperation::Next AcquireOperation::perform(const Action& action, wait::Calls& calls) {
  using Verb = Action::Verb;
  notify_others(action, calls);
  switch (action.verb) {
    case Verb::kTry:
      return attempt(action.until);
    case Verb::kProbe:
      wake_at(time_.latest());
      return awaiting(context().acknowledger->probe(self()));
    case Verb::kSend:
      return send(action);
    case Verb::kConfirm:
      wake_at(time_.latest());
      return awaiting(context().acknowledger->confirm(self()));
    case Verb::kKeep:
      return keep(action);
    case Verb::kJoin:
      return join(action.afresh);
    case Verb::kSleep:
      sleep(action);
      return std::nullopt;
    default:
      conclude(action, calls);
      return std::nullopt;
  }
}

// What an action has for others than the caller.
void AcquireOperation::notify_others(const Action& action, wait::Calls& calls) {
  if (action.settles) account_.answered();
  if (action.left_over) calls.append(context().waits->left_over(channel_, *action.left_over));
  if (action.overlong > Millis(0)) {
    context().keeper->report_overlong(name(), request().owner, action.overlong);
  }
  if (action.foreign) context().keeper->report_foreign(name(), request().owner);
}

// Of a nested hold only that it is one is of interest.
AcquireMachine::Event AcquireOperation::ahead() {
  const MutexLock lock(mutex_);
  Event event{Event::Kind::kAhead};
  event.at = TimePoint{};
  event.count = context().keeper->count(name(), request().owner);
  if (event.count > 0 || !machine_.yields()) return event;
  seen_ = context().waits->sequence(channel_);
  event.at = context().waits->holds_back(channel_, wants());
  event.release_in_flight = context().waits->release_in_flight(channel_);
  return event;
}

AcquireMachine::Event AcquireOperation::begun(const lease::AttemptPlan& plan) const {
  Event event{Event::Kind::kBegun};
  event.count = plan.count;
  event.takes_over = plan.takes_over;
  event.probed = context().acknowledger && context().acknowledger->probed(key());
  return event;
}

AcquireMachine::Event AcquireOperation::attempt(TimePoint until) {
  wake_at(until);
  using Plan = lease::AttemptPlan::Verdict;
  lease::AttemptPlan plan = account_.begin();
  while (plan.verdict == Plan::kLost) {
    const Status lost = account_.refuse();
    if (!lost.ok()) return Event::of(Event::Kind::kFailed, lost);
    plan = account_.begin();  // the loss was raised, or forgotten, in between
  }
  if (plan.verdict != Plan::kBegun) {
    return Event::of(Event::Kind::kFailed, closed_status(name()));
  }
  if (request().blocking) seen_ = context().waits->sequence(channel_);
  return begun(plan);
}

void AcquireOperation::prepare(const Action& action) {
  count_ = action.count;
  connect_deadline = action.connect_deadline;
}

AcquireOperation::Next AcquireOperation::send(const Action& action) {
  prepare(action);
  const Status closed = submit();
  if (closed.ok()) return std::nullopt;
  return Event::of(Event::Kind::kFailed, closed);
}

AcquireMachine::Event AcquireOperation::join(bool afresh) {
  using Place = wait::WaitRegistry::Place;
  stats_.waits();
  if (afresh) seen_.reset();
  const Place place = context().waits->join(channel_, self(), seen_, wake_policy(recipe(), name()));
  // A closing client first sets this state and then ends all waits.
  if (context().keeper->closing()) return Event::of(Event::Kind::kFailed, closed_status(name()));
  if (place == Place::kTryNow) return {Event::Kind::kTryNow};
  Event event{place == Place::kHead ? Event::Kind::kHead : Event::Kind::kTurn};
  event.release_in_flight = context().waits->release_in_flight(channel_);
  return event;
}

AcquireMachine::Event AcquireOperation::keep(const Action& action) {
  if (account_.keep({action.count, action.sent, action.value, now()})) return {Event::Kind::kKept};
  const std::string why = ": the client was closed before the grant arrived; it was given back";
  return Event::of(Event::Kind::kFailed, Status::closed(quoted(name().bytes()) + why), true);
}

void AcquireOperation::sleep(const Action& action) {
  stats_.waits();
  if (action.give_back) account_.take_back(action.count - 1);
  if (action.new_request) account_.take_slot();
  wake_at(action.until);
  using Policy = wait::WaitRegistry::WakePolicy;
  const Policy policy = wake_policy(recipe(), name());
  if (machine_.asleep() && policy != Policy::kApart) listen(channel_, policy == Policy::kInTurn);
}

void AcquireOperation::conclude(const Action& action, wait::Calls& calls) {
  using Verb = Action::Verb;
  if (action.verb == Verb::kForward) calls.append(context().waits->not_for(channel_, *this));
  if (action.verb == Verb::kGiveBack) account_.give_back();
  if (action.verb != Verb::kFinish) return;
  stats_.ended(action.verdict, now() - begun_);
  if (action.verdict == Verdict::kGone) account_.lose(action.why.message());
  abandon();
  if (action.give_back) account_.take_back(action.count - 1);
  account_.close();
  if (action.leave) {
    calls.append(context().waits->leave(channel_, *this, *action.leave, action.until));
  }
  finish({action.verdict, action.why, action.value});
}

bool AcquireOperation::accept_offer(const std::function<void()>& send) {
  const MutexLock lock(mutex_);
  if (!machine_.open_to_offers()) return false;
  const lease::AttemptPlan plan = account_.begin();
  if (plan.verdict != lease::AttemptPlan::Verdict::kBegun) return false;
  Event event{Event::Kind::kOffer};
  event.takes_over = plan.takes_over;
  (void)machine_.resume(event, now());
  send();
  return true;
}

void AcquireOperation::offer_answered(const Answer& answer, const client::Sent& sent) {
  Event event = this->answer(answer, sent);
  event.unknown = true;
  deliver(std::move(event));
}

void AcquireOperation::offer_in_doubt(const Status& why) {
  deliver(Event::of(Event::Kind::kRefused, why, true));
}

// A millisecond longer than the grant, so that it is a write on every server.
void AcquireOperation::write_again(script::Writer& out) const {
  recipe().taking()->write_again(out, name(), owner_field(), request().lease.time + Millis(1));
}

Millis AcquireOperation::longest_wait() const {
  const Millis longest = context().acknowledger->longest_wait(request().lease.time);
  if (time_.latest() == kNever) return longest;
  // No longer than its caller waits, who then gets the replicas as the reason.
  const auto left = std::chrono::ceil<Millis>(time_.latest() - kLateAnswer - now());
  return std::clamp(left, Millis(1), longest);
}

AcquireOperation::Next AcquireOperation::awaiting(const Status& closed) {
  if (closed.ok()) return std::nullopt;
  return Event::of(Event::Kind::kAskFailed, closed);
}

void AcquireOperation::confirmed(Acknowledgement outcome) {
  switch (outcome.kind) {
    case Acknowledgement::Kind::kConfirmed:
      return deliver({Event::Kind::kConfirmed});
    case Acknowledgement::Kind::kGone:
      return deliver({Event::Kind::kForgotten});
    case Acknowledgement::Kind::kRefused:
      return deliver(Event::of(Event::Kind::kUnconfirmed, std::move(outcome.why)));
    case Acknowledgement::Kind::kFailed:
      return deliver(Event::of(Event::Kind::kAskFailed, std::move(outcome.why)));
  }
}

}  // namespace holdfast::sync
