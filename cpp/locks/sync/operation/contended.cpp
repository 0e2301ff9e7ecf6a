#include "locks/sync/operation/contended.h"

#include <algorithm>
#include <utility>

#include "locks/base/trace.h"
#include "redis/base/mutex.h"
#include "redis/base/status.h"

namespace holdfast::sync {

namespace {

// OK, or the loss of the owner's that a grant would hide: once, if it is not of an open block.
Status loss(const Context& context, const AcquireRequest& request) {
  const auto loss = lease::Attempt(*context.keeper, request.name(), request.owner).refuse();
  if (loss) return Status::lost(*loss);
  return {};
}

}  // namespace

Acquire::Contended::Contended(Acquire& acquire, bool sent)
    : acquire_(acquire),
      channel_(request().synchronizer->channel(context(), request().owner)),
      beside_(request().recipe().channel_beside(request().name())),
      machine_(machine_options(request(), context(), acquire.begun_), *this),
      stats_(*context().stats, request()) {
  request().synchronizer->waiter = request().owner;
  const Recipe& recipe = acquire.recipe();
  if (!recipe.traits.granting_message.empty()) since = acquire.begun_;
  // It is woken for as many permits as a message, or a refusal, says that there are. Of two names
  // that share a channel, that does not say whose permits: each tries.
  const bool by_count = recipe.traits.has_permits && !shares_channels(acquire.name());
  if (by_count) wants = request().amount;
  if (sent) machine_.sent({acquire.count_, acquire.plan_.takes_over});
}

void Acquire::Contended::begin() {
  Status refused;
  {
    const MutexLock lock(acquire_.mutex_);
    refused = acquire_.attempt_.enter()
                  ? loss(context(), request())
                  : under_way_status(acquire_.name(), acquire_.caller_.by_thread());
    if (refused.ok()) acquire_.send_beside(acquire_.note());
  }
  if (!refused.ok()) return notify(&AcquireMachine::failed, refused, false);
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
  AcquireMachine::Ahead ahead;
  {
    const MutexLock lock(acquire_.mutex_);
    ahead.nested = context().keeper->count(acquire_.name(), request().owner) > 0;
    if (!ahead.nested && machine_.yields()) {
      seen_ = context().waits->sequence(channel_);
      ahead.until = context().waits->holds_back(channel_, wants);
      ahead.release_in_flight = context().waits->release_in_flight(channel_);
    }
  }
  notify(&AcquireMachine::start, ahead);
}

// ---- What happens

// A waiter takes its lock when it is called, and waiters may call one another: so that comes last,
// without this lock. Threads that are woken on the way wake after that.
template <typename... Takes, typename... Arguments>
void Acquire::Contended::notify(void (AcquireMachine::*event)(TimePoint, Takes...),
                                Arguments&&... arguments) {
  const WakeBatch wakes;
  wait::Calls calls;
  {
    const MutexLock lock(acquire_.mutex_);
    (machine_.*event)(acquire_.now(), std::forward<Arguments>(arguments)...);
    calls = std::exchange(calls_, {});
  }
  calls.run();
}

void Acquire::Contended::on_message(std::string_view payload) {
  const std::string_view granting = acquire_.recipe().traits.granting_message;
  if (granting.empty() || granting != payload) return on_signal();
  notify(&AcquireMachine::answered, Response{{Answer::Kind::kGranted, Millis(0)}});
}

void Acquire::Contended::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  // An attempt that was never sent cannot have been granted.
  if (!reply.ok()) {
    return notify(&AcquireMachine::failed, unanswered(reply.status()), sent.times > 0);
  }
  const LockName& name = acquire_.name();
  if (reply.value().is_error()) {
    const std::string_view text = reply.value().text();
    const Status why = error_status(text, name, context().topology->text());
    // An earlier sending, whose answer was lost, may have been executed.
    return notify(is_temporary(text) ? &AcquireMachine::refused : &AcquireMachine::failed, why,
                  sent.times > 1);
  }
  const Answer answer = acquire_.recipe().acquired(reply.value());
  if (answer.kind == Answer::Kind::kHeld) {
    Trace::record({TraceEntry::Step::kRefused, name.bytes(), name.side(), request().owner});
  } else if (request().terms) {
    const MutexLock lock(acquire_.mutex_);
    if (!acquire_.finished()) acquire_.keep_reply(std::move(reply.value()));
  }
  notify(&AcquireMachine::answered, received(answer, sent));
}

void Acquire::Contended::time_is_up(TimePoint now) {
  bool was_held_up = false;
  {
    const MutexLock lock(acquire_.mutex_);
    was_held_up = std::exchange(held_up_, false) && !acquire_.finished();
  }
  if (was_held_up) return start();
  Status late;
  if (now >= acquire_.time_.latest()) {
    late = unanswered(Status::unreachable("no reply from " + context().topology->text()));
  }
  notify(&AcquireMachine::time_is_up, late);
}

// A member's caller has the time, and names it.
Status Acquire::Contended::unanswered(const Status& why) const {
  const LockName& name = acquire_.name();
  return request().part() ? unreachable_status(why, name)
                          : unreachable_status(why, name, acquire_.time_, acquire_.now());
}

// Permits too few for this waiter are for the others, also after it has left.
AcquireMachine::Response Acquire::Contended::received(const Answer& answer,
                                                      const client::Sent& sent) const {
  Response response{answer};
  response.sent = sent.last;
  if (acquire_.recipe().grants_end()) {
    response.trusted_until = trusted_until(sent.last, request().lease.time);
  }
  if (answer.kind == Answer::Kind::kHeld) {
    request().synchronizer->foreign = answer.foreign;
    response.others = context().waits->others(channel_);
    if (wants > 0) context().waits->left_over(channel_, answer.value.value_or(0)).run();
  }
  acquire_.report_other(answer);
  return response;
}

// ---- What the machine decides

Result<AcquireMachine::Begun> Acquire::Contended::begin_attempt(TimePoint until) {
  using Plan = lease::AttemptPlan::Kind;
  acquire_.wake_at(until);
  lease::AttemptPlan plan = acquire_.begin_attempt();
  while (plan.kind == Plan::kLost) {
    Status lost = loss(context(), request());
    if (!lost.ok()) return lost;
    plan = acquire_.begin_attempt();  // the loss was raised, or forgotten, in between
  }
  if (plan.kind != Plan::kBegun) return closed_status(acquire_.name());
  // The answer need not show events from here on: join() finds them by the sequence.
  if (request().waits()) {
    seen_ = context().waits->sequence(channel_);
    if (!beside_.empty()) seen_beside_ = context().waits->sequence(beside_);
  }
  const ReplicaAcknowledger* const replicas = context().acknowledger.get();
  return Begun{plan.count, plan.takes_over, replicas && replicas->probed(acquire_.key())};
}

Status Acquire::Contended::send(int count, TimePoint connect_deadline) {
  acquire_.count_ = count;
  acquire_.connect_deadline = connect_deadline;
  // Where others wait, a message may wake them too: this thread submits their attempts in the order
  // of the queue, which its own is to keep.
  return context().waits->has_waiters(1) ? acquire_.submit() : acquire_.send_soon();
}

Status Acquire::Contended::probe() {
  acquire_.wake_at(acquire_.time_.latest());
  return context().acknowledger->probe(acquire_.key(), acknowledged());
}

Status Acquire::Contended::confirm() {
  acquire_.wake_at(acquire_.time_.latest());
  return context().acknowledger->confirm(
      {acquire_.name(), acquire_.recipe().taking, terms().owner_field, request().lease.time,
       acquire_.time_.latest()},
      acknowledged());
}

Confirmed Acquire::Contended::acknowledged() {
  return [self = self()](const Acknowledgement& outcome) {
    self->notify(&AcquireMachine::acknowledged, outcome);
  };
}

Status Acquire::Contended::keep(const Response& grant, int count) {
  if (acquire_.keep(count, grant.sent, grant.answer.value, acquire_.now())) return {};
  const std::string why = ": the client was closed before the grant arrived; it was given back";
  return Status::closed(quoted(acquire_.name().bytes()) + why);
}

Result<AcquireMachine::Place> Acquire::Contended::join(bool afresh) {
  using Where = wait::WaitRegistry::Place;
  stats_.waits();
  if (afresh) {  // it has made no attempt: to a newcomer what came before means nothing
    seen_.reset();
    seen_beside_.reset();
  }
  wait::WaitRegistry& waits = *context().waits;
  const Waiting waiting = waiting_for(acquire_.recipe(), acquire_.name());
  Where where = waits.join(channel_, self(), seen_, waiting);
  if (!beside_.empty() && waits.join(beside_, self(), seen_beside_, waiting) == Where::kTryNow) {
    where = Where::kTryNow;
  }
  // A closing client first sets this state and then ends all waits.
  if (context().keeper->is_closing()) return closed_status(acquire_.name());
  return Place{where, waits.release_in_flight(channel_)};
}

void Acquire::Contended::sleep_until(TimePoint until) {
  stats_.waits();
  acquire_.wake_at(until);
  // A thread then reads messages while it sleeps. During an attempt it reads its reply, and while
  // it stands back no message concerns it.
  const Waiting waiting = waiting_for(acquire_.recipe(), acquire_.name());
  if (machine_.listens() && waiting != Waiting::kBackOff) {
    acquire_.listen(channel_, waiting != Waiting::kTogether);
  }
}

void Acquire::Contended::take_back(int remaining, bool anew) {
  acquire_.take_back(remaining);
  if (!anew) return;
  AcquireRequest& request = acquire_.request_;  // what is taken back keeps its slot
  request.slot = context().slots->take();
  request.owner = request.slot->slot;
}

void Acquire::Contended::settled() { acquire_.attempt_.answered(); }

void Acquire::Contended::report(const Answer& refusal) {
  const lease::Subject subject{acquire_.name(), request().owner, acquire_.recipe().traits.kind};
  lease::Notices& notices = context().keeper->notices;
  refusal.foreign ? notices.foreign(subject) : notices.overlong(subject, refusal.ttl);
}

void Acquire::Contended::finish(Outcome outcome, const AcquireMachine::Rest& rest) {
  const bool granted = outcome.verdict == Verdict::kGranted;
  granted ? stats_.granted(acquire_.now() - acquire_.begun_) : stats_.refused(outcome.verdict);
  if (outcome.verdict == Verdict::kGone) {  // the server does not have the owner's earlier holds
    context().keeper->lose(acquire_.name(), request().owner, outcome.why.message());
  }
  // Before anything else is sent: an attempt that is not on its way by now never is, and what
  // takes it back stands behind it.
  acquire_.abandon();
  if (rest.take_back) acquire_.take_back(*rest.take_back);
  if (granted) {
    acquire_.send_beside(acquire_.note(true));
  } else if (acquire_.attempt_.under_way() && request().purpose && !request().again) {
    lease::Notes& notes = context().keeper->notes;
    acquire_.send_beside(notes.remove(acquire_.name(), request().owner, request().amount));
  }
  acquire_.attempt_.end();
  // Behind what is taken back: the next waiter's attempt comes after it on the same connection.
  if (rest.leave) {
    wait::WaitRegistry& waits = *context().waits;
    calls_.append(waits.leave(channel_, *this, *rest.leave, rest.retry_at));
    if (!beside_.empty()) calls_.append(waits.leave(beside_, *this, *rest.leave, rest.retry_at));
  }
  acquire_.finish(std::move(outcome));
}

// ---- A release of this client that hands its lock over

bool Acquire::Contended::accept_offer(const std::function<void()>& send) {
  const MutexLock lock(acquire_.mutex_);
  if (!machine_.open_to_offers()) return false;
  const lease::AttemptPlan plan = acquire_.begin_attempt();
  if (plan.kind != lease::AttemptPlan::Kind::kBegun) return false;
  machine_.offer(plan.takes_over);
  send();  // with this lock: what takes it back, if this waiter gives up, stands behind it
  return true;
}

void Acquire::Contended::offer_answered(const Answer& answer, const client::Sent& sent,
                                        const Status& why) {
  if (!why.ok()) return notify(&AcquireMachine::refused, why, true);
  Response response = received(answer, sent);
  response.to_offer = true;
  notify(&AcquireMachine::answered, response);
}

}  // namespace holdfast::sync
