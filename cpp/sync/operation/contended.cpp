#include "sync/operation/contended.h"

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "base/parker.h"
#include "base/shown.h"
#include "base/trace.h"

namespace holdfast::sync {

Acquire::Contended::Contended(Acquire& acquire, bool sent)
    : acquire_(acquire),
      channel_(recipe().channel(acquire.name(), owner_field()).bytes()),
      machine_(machine_options(request(), context(), acquire.begun_)),
      stats_(*context().stats, request().stats()) {
  // Its command is what the first attempt has sent.
  if (sent) (void)machine_.resume(begun(acquire.plan_), acquire.begun_);
}

void Acquire::Contended::begin() {
  Status refused;
  {
    const MutexLock lock(acquire_.mutex_);
    refused = acquire_.attempt_.begin() ? loss()
                                        : under_way_status(acquire_.name(), acquire_.by_thread());
  }
  if (!refused.ok()) return deliver(Event::of(Event::Kind::kFailed, refused));
  start();
}

// OK, or the loss of the owner's that a grant would hide: once, if it is not of an open block.
Status Acquire::Contended::loss() const {
  const auto loss = context().keeper->attempts().refuse(acquire_.name(), request().owner);
  return loss ? Status::lost(*loss) : Status();
}

// Behind an earlier renewal, which the server has answered soon, unless it answers nothing.
void Acquire::Contended::start() {
  {
    const MutexLock lock(acquire_.mutex_);
    const TimePoint now = acquire_.now();
    const TimePoint until =
        std::min(acquire_.time_.latest(), after(acquire_.begun_, context().command_timeout));
    held_up_ = acquire_.held_up() && now < until;
    if (held_up_) return acquire_.wake_at(std::min(after(now, kHeldUp), until));
  }
  // Messages from before the attempt, the client's own among them, are no reason for another one.
  if (context().waits->sequence(channel_)) {
    if (const auto messages = context().topology->subscriber(channel_)) messages->catch_up();
  }
  deliver(ahead());
}

// Of a nested hold only that it is one is of interest.
AcquireMachine::Event Acquire::Contended::ahead() {
  const MutexLock lock(acquire_.mutex_);
  Event event{Event::Kind::kAhead};
  event.at = TimePoint{};
  event.count = context().keeper->count(acquire_.name(), request().owner);
  if (event.count > 0 || !machine_.yields()) return event;
  seen_ = context().waits->sequence(channel_);
  event.at = context().waits->holds_back(channel_, wants());
  event.release_in_flight = context().waits->release_in_flight(channel_);
  return event;
}

// ---- Events

TimePoint Acquire::Contended::since() const {
  return recipe().granting_message() ? acquire_.begun_ : TimePoint::min();
}

std::int64_t Acquire::Contended::wants() const {
  return by_count(recipe(), acquire_.name()) ? request().amount : 0;
}

void Acquire::Contended::on_message(std::string_view payload) {
  if (recipe().granting_message() != payload) return on_signal();
  deliver({Event::Kind::kAnswer, {Answer::Kind::kGranted, Millis(0)}});
}

void Acquire::Contended::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  if (!reply.ok()) {
    const Status why = late(reply.status());
    // What was never sent cannot have been granted.
    return deliver(Event::of(Event::Kind::kFailed, why, sent.times > 0));
  }
  if (!reply.value().is_error()) {
    const Answer answer = recipe().acquired(reply.value());
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
    event.why = late(Status::unreachable("no reply from " + context().topology->text()));
  }
  deliver(std::move(event));
}

// Why a command has no reply. A member's caller has the time, and names it.
Status Acquire::Contended::late(const Status& why) const {
  const CallersTime& time = acquire_.time_;
  const bool all_time = acquire_.now() >= time.deadline() && why.code() == Code::kUnreachable;
  return all_time && !request().member ? time.late(acquire_.name().bytes(), why)
                                       : unreachable_status(why, acquire_.name());
}

AcquireMachine::Event Acquire::Contended::answer(const Answer& answer,
                                                 const client::Sent& sent) const {
  Event event{Event::Kind::kAnswer, answer};
  event.sent = sent.last;
  if (recipe().grants_end()) event.at = trusted_until(sent.last, request().lease.time);
  if (answer.kind == Answer::Kind::kHeld) request().synchronizer->refused(answer.foreign);
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
  if (action.overlong > Millis(0)) {
    keeper.report_overlong(acquire_.name(), request().owner, action.overlong);
  }
  if (action.foreign) keeper.report_foreign(acquire_.name(), request().owner);
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
    const Status lost = loss();
    if (!lost.ok()) return Event::of(Event::Kind::kFailed, lost);
    plan = acquire_.begin_attempt();  // the loss was raised, or forgotten, in between
  }
  if (plan.verdict != Plan::kBegun) {
    return Event::of(Event::Kind::kFailed, closed_status(acquire_.name()));
  }
  if (request().blocking) seen_ = context().waits->sequence(channel_);
  return begun(plan);
}

Acquire::Contended::Next Acquire::Contended::send(const Action& action) {
  acquire_.count_ = action.count;
  acquire_.connect_deadline = action.connect_deadline;
  const Status closed = acquire_.submit();
  if (closed.ok()) return std::nullopt;
  return Event::of(Event::Kind::kFailed, closed);
}

AcquireMachine::Event Acquire::Contended::join(bool afresh) {
  using Place = wait::WaitRegistry::Place;
  stats_.waits();
  if (afresh) seen_.reset();
  const Place place =
      context().waits->join(channel_, part(this), seen_, wake_policy(recipe(), acquire_.name()));
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
  using Policy = wait::WaitRegistry::WakePolicy;
  const Policy policy = wake_policy(recipe(), acquire_.name());
  if (machine_.asleep() && policy != Policy::kApart) {
    acquire_.listen(channel_, policy == Policy::kInTurn);
  }
}

void Acquire::Contended::conclude(const Action& action, wait::Calls& calls) {
  using Verb = Action::Verb;
  if (action.verb == Verb::kForward) calls.append(context().waits->not_for(channel_, *this));
  if (action.verb == Verb::kGiveBack) acquire_.give_back();
  if (action.verb != Verb::kFinish) return;
  stats_.ended(action.verdict, acquire_.now() - acquire_.begun_);
  if (action.verdict == Verdict::kGone) {  // the server does not have the owner's earlier holds
    context().keeper->lose(acquire_.name(), request().owner, action.why.message());
  }
  acquire_.abandon();
  if (action.give_back) acquire_.take_back(action.count - 1);
  acquire_.attempt_.end();
  if (action.leave) {
    calls.append(context().waits->leave(channel_, *this, *action.leave, action.until));
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

void Acquire::Contended::offer_answered(const Answer& answer, const client::Sent& sent) {
  Event event = this->answer(answer, sent);
  event.unknown = true;
  deliver(std::move(event));
}

// ---- Replicas

Acquire::Contended::Next Acquire::Contended::ask(const Action& action) {
  acquire_.wake_at(acquire_.time_.latest());
  ReplicaAcknowledger& replicas = *context().acknowledger;
  const AckListenerPtr listener = part<AckListener>(&confirmation_);
  const bool probes = action.verb == Action::Verb::kProbe;
  const Status closed = probes ? replicas.probe(listener) : replicas.confirm(listener);
  if (closed.ok()) return std::nullopt;
  return Event::of(Event::Kind::kAskFailed, closed);
}

// A millisecond longer than the grant, so that it is a write on every server.
void Acquire::Contended::Confirmation::write_again(script::Writer& out) const {
  acquire_.recipe().taking()->write_again(out, acquire_.name(), of_.owner_field(),
                                          of_.lease_time() + Millis(1));
}

Millis Acquire::Contended::Confirmation::longest_wait() const {
  const Millis longest = acquire_.context().acknowledger->longest_wait(of_.lease_time());
  const TimePoint latest = acquire_.time_.latest();
  if (latest == kNever) return longest;
  // No longer than its caller waits, who then gets the replicas as the reason.
  const auto left = std::chrono::ceil<Millis>(latest - kLateAnswer - acquire_.now());
  return std::clamp(left, Millis(1), longest);
}

void Acquire::Contended::Confirmation::confirmed(Acknowledgement outcome) {
  switch (outcome.kind) {
    case Acknowledgement::Kind::kConfirmed:
      return of_.deliver({Event::Kind::kConfirmed});
    case Acknowledgement::Kind::kGone:
      return of_.deliver({Event::Kind::kForgotten});
    case Acknowledgement::Kind::kRefused:
      return of_.deliver(Event::of(Event::Kind::kUnconfirmed, std::move(outcome.why)));
    case Acknowledgement::Kind::kFailed:
      return of_.deliver(Event::of(Event::Kind::kAskFailed, std::move(outcome.why)));
  }
}

}  // namespace holdfast::sync
