#include "sync/call/call.h"

#include <algorithm>
#include <utility>

#include "base/wake_batch.h"

namespace holdfast::sync {

bool Call::start(const Caller& caller, TimePoint now) {
  connection_ = context_.topology->route(key(), topology::Traffic::kCalls);
  const FirstStep step = first_begin(now);
  deadline = std::min(after(now, context_.command_timeout), step.latest);
  connect_deadline = step.connect_deadline;
  if (step.sends) {
    state_ = State::kSent;
    caller_ = caller;
  } else {
    state_ = State::kPassedOn;
    successor_ = first_operation(false);
  }
  return step.sends;
}

void Call::submit(Parker* reader) {
  const Status refused = connection_->submit(shared_from_this(), reader);
  if (!refused.ok()) complete(refused, {});
}

// ---- A thread

std::optional<Outcome> Call::wait(Interrupt* interrupt) {
  Parker& parker = Parker::of_this_thread();
  if (!start({&parker}, context_.clock.now())) return successor()->wait(interrupt);
  try {
    std::optional<Answered> answered;
    if (send(parker, interrupt, answered)) return judge(answered, interrupt);
  } catch (...) {  // no memory, threads or descriptors
    give_up_quietly();
    throw;
  }
  give_up();
  return std::nullopt;
}

bool Call::send(Parker& parker, Interrupt* interrupt, std::optional<Answered>& answered) {
  using Exchanged = client::Connection::Exchanged;
  client::Connection::DirectReply answer;
  const Exchanged way = connection_->exchange(shared_from_this(), parker, answer);
  if (way == Exchanged::kAnswered) {
    answered.emplace(resp::Reply(answer.reply), answer.sent);
    return true;
  }
  if (way == Exchanged::kNotBegun) submit(&parker);
  return await(parker, interrupt);
}

bool Call::await(Parker& parker, Interrupt* interrupt) {
  for (;;) {  // once at least: others may wait for a leader
    const TimePoint slice = interrupt != nullptr ? context_.clock.now() + kInterruptSlice : kNever;
    connection_->serve(parker, control_, slice);
    if (control_.done.load(std::memory_order_acquire)) return true;
    if (interrupt != nullptr && interrupt->pending()) return false;
  }
}

std::optional<Outcome> Call::judge(std::optional<Answered>& answered, Interrupt* interrupt) {
  wait::Calls calls;
  std::optional<Outcome> outcome;
  if (answered) {
    outcome = conclude(*answered, calls);
  } else {
    const MutexLock lock(mutex_);
    answered = take_answer();
    outcome = conclude(*answered, calls);
  }
  calls.run();
  if (outcome) return outcome;
  const OperationPtr to = successor();
  to->complete(std::move(answered->reply), answered->sent);
  return to->await(interrupt);
}

// The thread leaves: an operation goes on as one that was cancelled.
void Call::give_up() {
  cancel();
  if (const OperationPtr to = successor()) return to->give_up();
  connection_->serve(Parker::of_this_thread(), control_, TimePoint{});  // others lead
}

// What it has begun must not go on for a caller that does not know of it.
void Call::give_up_quietly() noexcept {
  try {
    give_up();
  } catch (...) {
    return;
  }
}

// ---- A task, and a thread that waits for several calls

void Call::finish_to(std::shared_ptr<Completion> completion, std::uint64_t id, Parker* reader) {
  if (!start({nullptr, completion, id, reader}, context_.clock.now())) {
    return successor()->finish_to(std::move(completion), id, reader);
  }
  try {
    submit(reader);
  } catch (...) {  // no memory, threads or descriptors
    cancel();
    throw;
  }
}

void Call::serve(Parker& parker, TimePoint slice) {
  if (!successor()) connection_->serve(parker, control_, slice);
  if (const OperationPtr to = successor()) to->serve(parker, slice);
}

void Call::stop_serving(Parker& parker) {
  {
    const MutexLock lock(mutex_);
    caller_.reader = nullptr;
    if (state_ != State::kSent && !successor_) return;
  }
  if (const OperationPtr to = successor()) return to->stop_serving(parker);
  // A look without time for it: it leaves what is still to be read to others.
  connection_->serve(parker, control_, TimePoint{});
}

// ---- All of them

void Call::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  Answered answered(std::move(reply), sent);
  wait::Calls calls;
  OperationPtr to;
  {
    const MutexLock lock(mutex_);
    if (state_ == State::kSent && caller_.thread != nullptr) {
      state_ = State::kAnswered;
      answered_ = std::move(answered);
      return end_wait();
    }
    if (state_ == State::kSent) (void)conclude(answered, calls);
    to = successor_;
  }
  calls.run();
  if (to) to->complete(std::move(answered.reply), answered.sent);
}

// The outcome, if the reply is the usual one; else successor_ is to get it.
std::optional<Outcome> Call::conclude(const Answered& answered, wait::Calls& calls) {
  std::optional<Outcome> outcome;
  if (answered.reply.ok()) outcome = first_finish(answered.reply.value(), answered.sent, calls);
  if (!outcome) {
    (void)pass_on();
    return std::nullopt;
  }
  state_ = State::kOver;
  if (const auto completion = std::exchange(caller_.completion, nullptr)) {
    completion->done(caller_.id, *outcome);
  }
  end_wait();
  return outcome;
}

OperationPtr Call::pass_on() {
  state_ = State::kPassedOn;
  revoke();  // what is sent (again) from now on is the operation's
  successor_ = first_operation(true);
  successor_->report_to(std::exchange(caller_.completion, nullptr), caller_.id, caller_.reader);
  successor_->resume();
  end_wait();
  return successor_;
}

OperationPtr Call::successor() const {
  const MutexLock lock(mutex_);
  return successor_;
}

// The thread that waits or reads sees for itself where it is this one.
void Call::end_wait() {
  Parker* const waits = caller_.thread != nullptr ? caller_.thread : caller_.reader;
  if (waits == nullptr) return;
  control_.done.store(true, std::memory_order_release);
  caller_.thread = caller_.reader = nullptr;
  if (waits != &Parker::of_this_thread()) WakeBatch::notify(*waits);
}

void Call::cancel() {
  OperationPtr to;
  std::optional<Answered> answered;
  bool takes_back = false;
  {
    const MutexLock lock(mutex_);
    takes_back = state_ == State::kOver;
    if (state_ == State::kSent || state_ == State::kAnswered) (void)pass_on();
    if (state_ != State::kPassedOn) state_ = State::kEnded;
    answered = take_answer();
    to = successor_;
  }
  if (takes_back) return first_take_back();
  if (!to) return;
  if (answered) to->complete(std::move(answered->reply), answered->sent);
  to->cancel();
  if (to->abandoned()) abandon();
}

}  // namespace holdfast::sync
