#include "locks/sync/operation/contended.h"

#include <algorithm>
#include <utility>

#include "locks/base/trace.h"
#include "redis/base/mutex.h"
#include "redis/base/parker.h"
#include "redis/base/shown.h"

namespace holdfast::sync {

namespace {

// OK, or the loss of the owner's that a grant would hide: once, if it is not of an open block.
Status loss(const Context& context, const AcquireRequest& request) {
  const auto loss = context.keeper->attempts().refuse(request.name(), request.owner);
  if (loss) return Status::lost(*loss);
  return {};
}

AcquireMachine::Event event_of(Acknowledgement outcome) {
  using Kind = AcquireMachine::Event::Kind;
  using Outcome = Acknowledgement::Kind;
  const Kind kind = outcome.kind == Outcome::kConfirmed ? Kind::kConfirmed
                    : outcome.kind == Outcome::kGone    ? Kind::kForgotten
                    : outcome.kind == Outcome::kRefused ? Kind::kUnconfirmed
                                                        : Kind::kAskFailed;
  return AcquireMachine::Event::of(kind, std::move(outcome.why));
}

}  // namespace

Acquire::Contended::Contended(Acquire& acquire, bool sent)
    : acquire_(acquire),
      channel_(request().synchronizer->channel(context(), request().owner)),
      beside_(request().recipe().channel_beside(request().name())),
      machine_(machine_options(request(), context(), acquire.begun_)),
      stats_(*context().stats, request().stats()) {
  request().synchronizer->waits(request().owner);
  const Recipe& recipe = acquire.recipe();
  if (recipe.granting_message()) since = acquire.begun_;
  if (by_count(recipe, acquire.name())) wants = request().amount;
  // Its command is what the first attempt has sent.
  if (sent) (void)machine_.resume(begun(acquire.plan_), acquire.begun_);
}

void Acquire::Contended::begin() {
  Status refused;
  {
    const MutexLock lock(acquire_.mutex_);
    refused = acquire_.attempt_.begin()
                  ? loss(context(), request())
                  : under_way_status(acquire_.name(), acquire_.caller_.by_thread());
    if (refused.ok()) acquire_.send_beside(acquire_.note());
  }
  if (!refused.ok()) return deliver(Event::of(Event::Kind::kFailed, refused));
  start();
}

// Behind an earlier renewal, which the server has answered soon, unless it answers nothing.
void Acquire::Contended::start() {
  {
    const MutexLock lock(acquire_.mutex_);
    const TimePoint now = acquire_.now();
    const TimePoint until =
        std::min(acquire_.time_.latest(), after(acquire_.begun_, context().command_timeout));
    held_up_ = !request().lease.renewed && acquire_.held_up() && now < until;
    if (held_up_) return acquire_.wake_at(std::min(after(now, kHeldUp), until));
  }
  // Messages from before the attempt, the client's own among them, are no reason for another one.
  if (context().waits->sequence(channel_)) {
    if (const auto messages = context().topology->subscriber(channel_)) messages->catch_up();
  }
  deliver(ahead());
}

// Whether others go first. Of a nested hold only that it is one is of interest.
AcquireMachine::Event Acquire::Contended::ahead() {
  const MutexLock lock(acquire_.mutex_);
  Event event{Event::Kind::kAhead};
  event.at = TimePoint{};
  event.count = context().keeper->count(acquire_.name(), request().owner);
  if (event.count > 0 || !machine_.yields()) return event;
  seen_ = context().waits->sequence(channel_);
  event.at = context().waits->holds_back(channel_, wants);
  event.release_in_flight = context().waits->release_in_flight(channel_);
  return event;
}

// ---- Events

void Acquire::Contended::on_message(std::string_view payload) {
  if (acquire_.recipe().granting_message() != payload) return on_signal();
  deliver({Event::Kind::kAnswer, {Answer::Kind::kGranted, Millis(0)}});
}

void Acquire::Contended::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  // What was never sent cannot have been granted.
  if (!reply.ok()) return deliver(failed(reply.status(), sent.times > 0));
  if (!reply.value().is_error()) {
    const Answer answer = acquire_.recipe().acquired(reply.value());
    if (answer.kind == Answer::Kind::kHeld) {
      const LockName& name = acquire_.name();
      Trace::record({TraceEntry::Step::kRefused, name.bytes(), name.side(), request().owner});
    }
    return deliver(this->answer(answer, sent));
  }
  const std::string_view text = reply.value().text();
  const Status why = error_status(text, acquire_.name(), context().topology->text());
  // An earlier sending, whose answer was lost, may have been executed.
  deliver(Event::of(is_temporary(text) ? Event::Kind::kRefused : Event::Kind::kFailed, why,
                    sent.times > 1));
}

void Acquire::Contended::time_is_up(TimePoint now) {
  bool was_held_up = false;
  {
    const MutexLock lock(acquire_.mutex_);
    was_held_up = std::exchange(held_up_, false) && !acquire_.finished();
  }
  if (was_held_up) return start();
  Event event{Event::Kind::kTime};
  if (now >= acquire_.time_.latest()) {
    event.why =
        failed(Status::unreachable("no reply from " + context().topology->text()), true).why;
  }
  deliver(std::move(event));
}

// A command has no reply. A member's caller has the time, and names it.
AcquireMachine::Event Acquire::Contended::failed(const Status& why, bool unknown) const {
  const CallersTime& time = acquire_.time_;
  const LockName& name = acquire_.name();
  return Event::of(Event::Kind::kFailed,
                   request().part() ? unreachable_status(why, name)
                                    : unreachable_status(why, name, time, acquire_.now()),
                   unknown);
}

AcquireMachine::Event Acquire::Contended::answer(const Answer& answer,
                                                 const client::Sent& sent) const {
  Event event{Event::Kind::kAnswer, answer};
  event.sent = sent.last;
  if (acquire_.recipe().grants_end()) event.at = trusted_until(sent.last, request().lease.time);
  if (answer.kind == Answer::Kind::kHeld) {
    request().synchronizer->refused(answer.foreign);
    event.others = context().waits->others(channel_);
  }
  request().report_other(context(), answer);
  return event;
}

void Acquire::Contended::deliver(Event event) {
  const WakeBatch wakes;
  wait::Calls calls;
  {
    const MutexLock lock(acquire_.mutex_);
    Next next = std::move(event);
    while (next) next = perform(machine_.resume(*next, acquire_.now()), calls);
  }
  calls.run();
}

// ---- Actions

Acquire::Contended::Next Acquire::Contended::perform(const Action& action, wait::Calls& calls) {
  using Verb = Action::Verb;
  notify_others(action, calls);
  switch (action.verb) {
    case Verb::kTry:
      return attempt(action.until);
    case Verb::kProbe:
    case Verb::kConfirm:
      return ask(action);
    case Verb::kSend:
      return send(action);
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
void Acquire::Contended::notify_others(const Action& action, wait::Calls& calls) {
  lease::LeaseKeeper& keeper = *context().keeper;
  if (action.settles) keeper.attempts().answered(acquire_.name(), request().owner);
  if (action.left_over) calls.append(context().waits->left_over(channel_, *action.left_over));
  const lease::Subject subject{acquire_.name(), request().owner, acquire_.recipe().kind()};
  if (action.overlong > Millis(0)) keeper.report_overlong(subject, action.overlong);
  if (action.foreign) keeper.report_foreign(subject);
}

AcquireMachine::Event Acquire::Contended::begun(const lease::AttemptPlan& plan) const {
  Event event{Event::Kind::kBegun};
  event.count = plan.count;
  event.takes_over = plan.takes_over;
  event.probed = context().acknowledger && context().acknowledger->probed(acquire_.key());
  return event;
}

AcquireMachine::Event Acquire::Contended::attempt(TimePoint until) {
  acquire_.wake_at(until);
  using Plan = lease::AttemptPlan::Verdict;
  lease::AttemptPlan plan = acquire_.begin_attempt();
  while (plan.verdict == Plan::kLost) {
    const Status lost = loss(context(), request());
    if (!lost.ok()) return Event::of(Event::Kind::kFailed, lost);
    plan = acquire_.begin_attempt();  // the loss was raised, or forgotten, in between
  }
  if (plan.verdict != Plan::kBegun) {
    return Event::of(Event::Kind::kFailed, closed_status(acquire_.name()));
  }
  if (request().waits()) {
    seen_ = context().waits->sequence(channel_);
    if (!beside_.empty()) seen_beside_ = context().waits->sequence(beside_);
  }
  return begun(plan);
}

Acquire::Contended::Next Acquire::Contended::send(const Action& action) {
  acquire_.count_ = action.count;
  acquire_.connect_deadline = action.connect_deadline;
  // Where others wait, a message may wake them too: this thread submits their attempts in the order
  // of the queue, which its own is to keep.
  const Status closed = context().waits->has_waiters(1) ? acquire_.submit() : acquire_.send_soon();
  if (closed.ok()) return std::nullopt;
  return Event::of(Event::Kind::kFailed, closed);
}

AcquireMachine::Event Acquire::Contended::join(bool afresh) {
  using Place = wait::WaitRegistry::Place;
  stats_.waits();
  if (afresh) {
    seen_.reset();
    seen_beside_.reset();
  }
  const Waiting waiting = waiting_for(acquire_.recipe(), acquire_.name());
  Place place = context().waits->join(channel_, self(), seen_, waiting);
  if (!beside_.empty()) {
    const Place other = context().waits->join(beside_, self(), seen_beside_, waiting);
    if (other == Place::kTryNow) place = other;
  }
  // A closing client first sets this state and then ends all waits.
  if (context().keeper->closing()) {
    return Event::of(Event::Kind::kFailed, closed_status(acquire_.name()));
  }
  if (place == Place::kTryNow) return {Event::Kind::kTryNow};
  Event event{place == Place::kHead ? Event::Kind::kHead : Event::Kind::kTurn};
  event.release_in_flight = context().waits->release_in_flight(channel_);
  return event;
}

AcquireMachine::Event Acquire::Contended::keep(const Action& action) {
  if (acquire_.keep({action.count, action.sent, action.value, acquire_.now()})) {
    return {Event::Kind::kKept};
  }
  const std::string why = ": the client was closed before the grant arrived; it was given back";
  return Event::of(Event::Kind::kFailed, Status::closed(quoted(acquire_.name().bytes()) + why),
                   true);
}

void Acquire::Contended::sleep(const Action& action) {
  stats_.waits();
  if (action.give_back) acquire_.take_back(action.count - 1);
  if (action.new_request) acquire_.take_slot();
  acquire_.wake_at(action.until);
  const Waiting waiting = waiting_for(acquire_.recipe(), acquire_.name());
  if (machine_.listens() && waiting != Waiting::kBackOff) {
    acquire_.listen(channel_, waiting != Waiting::kTogether);
  }
}

void Acquire::Contended::conclude(const Action& action, wait::Calls& calls) {
  using Verb = Action::Verb;
  if (action.verb == Verb::kForward) calls.append(context().waits->not_for(channel_, *this));
  if (action.verb == Verb::kGiveBack) acquire_.give_back();
  if (action.verb != Verb::kFinish) return;
  if (action.verdict == Verdict::kGranted) {
    stats_.granted(acquire_.now() - acquire_.begun_);
  } else {
    stats_.refused(action.verdict);
  }
  if (action.verdict == Verdict::kGone) {  // the server does not have the owner's earlier holds
    context().keeper->lose(acquire_.name(), request().owner, action.why.message());
  }
  acquire_.abandon();
  if (action.give_back) acquire_.take_back(action.count - 1);
  if (acquire_.attempt_.under_way() || action.verdict == Verdict::kGranted) {
    const bool granted = action.verdict == Verdict::kGranted;
    acquire_.send_beside(granted ? acquire_.note(true) : acquire_.no_note());
  }
  acquire_.attempt_.end();
  if (action.leave) {
    calls.append(context().waits->leave(channel_, *this, *action.leave, action.until));
    if (!beside_.empty()) {
      calls.append(context().waits->leave(beside_, *this, *action.leave, action.until));
    }
  }
  acquire_.finish({action.verdict, action.why, action.value});
}

// ---- A release of this client that hands its lock over

bool Acquire::Contended::accept_offer(const std::function<void()>& send) {
  const MutexLock lock(acquire_.mutex_);
  if (!machine_.open_to_offers()) return false;
  const lease::AttemptPlan plan = acquire_.begin_attempt();
  if (plan.verdict != lease::AttemptPlan::Verdict::kBegun) return false;
  Event event{Event::Kind::kOffer};
  event.takes_over = plan.takes_over;
  (void)machine_.resume(event, acquire_.now());
  send();
  return true;
}

void Acquire::Contended::offer_answered(const Answer& answer, const client::Sent& sent,
                                        const Status& why) {
  if (!why.ok()) return deliver(Event::of(Event::Kind::kRefused, why, true));
  Event event = this->answer(answer, sent);
  event.unknown = true;
  deliver(std::move(event));
}

// ---- Replicas

Acquire::Contended::Next Acquire::Contended::ask(const Action& action) {
  acquire_.wake_at(acquire_.time_.latest());
  ReplicaAcknowledger& replicas = *context().acknowledger;
  const auto confirmed = [self = self()](Acknowledgement outcome) {
    self->deliver(event_of(std::move(outcome)));
  };
  const bool probes = action.verb == Action::Verb::kProbe;
  const Status closed =
      probes ? replicas.probe(acquire_.key(), confirmed)
             : replicas.confirm({acquire_.name(), acquire_.recipe().taking(), terms().owner_field,
                                 request().lease.time, acquire_.time_.latest()},
                                confirmed);
  if (closed.ok()) return std::nullopt;
  return Event::of(Event::Kind::kAskFailed, closed);
}

}  // namespace holdfast::sync
