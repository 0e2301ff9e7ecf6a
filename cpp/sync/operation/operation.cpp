#include "sync/operation/operation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/parker.h"
#include "base/shown.h"

namespace holdfast::sync {

std::optional<std::int64_t> number_of(const resp::Reply& reply) {
  if (reply.is_nil()) return std::nullopt;
  if (reply.is_integer()) return reply.integer();
  std::int64_t value = 0;
  const std::string_view text = reply.text();
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Operation::Operation(std::shared_ptr<const Context> context, LockName name)
    : context_(std::move(context)),
      name_(std::move(name)),
      connection_(context_->topology->route(key(), topology::Traffic::kCalls)) {}

std::optional<Outcome> Operation::wait(Interrupt* interrupt) {
  Parker& parker = Parker::of_this_thread();
  wait_by(parker);
  try {
    const bool in_line = begin(now()) && send_first(&parker);
    if (in_line && serve_control_.done.load()) serve(parker, TimePoint{});  // others lead
    return await(interrupt);
  } catch (...) {  // no memory, threads or descriptors
    cancel_quietly();
    throw;
  }
}

// The thread writes and reads by itself where it can.
bool Operation::send_first(Parker* here) {
  using Exchanged = client::Connection::Exchanged;
  if (here == nullptr) return submit_first(here);
  client::Connection::DirectReply answer;
  const Exchanged way = connection_->exchange(shared_from_this(), *here, answer);
  if (way == Exchanged::kAnswered) answered_here(resp::Reply(answer.reply), answer.sent);
  return way == Exchanged::kNotBegun ? submit_first(here) : way == Exchanged::kInLine;
}

bool Operation::submit_first(Parker* here) {
  const Status refused =
      connection_->submit(shared_from_this(), here != nullptr ? here : first_reader());
  if (!refused.ok()) complete(refused, {});
  return refused.ok();
}

// What it has begun must not go on for a caller that does not know of it.
void Operation::cancel_quietly() noexcept {
  try {
    give_up();
  } catch (...) {
    return;
  }
}

std::optional<Outcome> Operation::await(Interrupt* interrupt) {
  Parker& parker = Parker::of_this_thread();
  while (!serve_control_.done.load(std::memory_order_acquire)) {
    wait_in(parker, interrupt != nullptr ? now() + kInterruptSlice : kNever);
    if (serve_control_.done.load(std::memory_order_acquire)) break;
    if (now() >= serve_control_.end()) time_is_up(now());
    if (interrupt != nullptr && !serve_control_.done.load() && stopped_by(*interrupt)) {
      give_up();
      return std::nullopt;
    }
  }
  return final_outcome();
}

void Operation::wait_in(Parker& parker, TimePoint slice) {
  Listening listening;
  if (serve_control_.listens.load(std::memory_order_acquire)) {
    const MutexLock lock(mutex_);
    listening = listening_;
  }
  if (!listening.to) return connection_->serve(parker, serve_control_, slice);
  listening.to->wait_for_message({parker, *listening.channel, listening.excludes, serve_control_},
                                 slice);
}

void Operation::give_up() {
  cancel();
  leave();
}

// What still comes must not look for this thread, and is for others to read.
void Operation::leave() {
  {
    const MutexLock lock(mutex_);
    parker_ = nullptr;
  }
  connection_->serve(Parker::of_this_thread(), serve_control_, TimePoint{});
}

void Operation::finish_to(std::shared_ptr<Completion> completion, std::uint64_t id,
                          Parker* reader) {
  report_to(std::move(completion), id, reader);
  try {
    if (begin(now())) (void)send_first(nullptr);
  } catch (...) {
    cancel_quietly();
    throw;
  }
}

void Operation::report_to(std::shared_ptr<Completion> completion, std::uint64_t id,
                          Parker* reader) {
  completion_ = std::move(completion);
  id_ = id;
  reader_ = reader;
}

void Operation::stop_serving(Parker& parker) {
  {
    const MutexLock lock(mutex_);
    reader_ = nullptr;
    if (finished()) return;
  }
  // A look without time for it: it leaves what is still to be read to others.
  connection_->serve(parker, serve_control_, TimePoint{});
}

Status Operation::submit() {
  return submit(std::min(after(now(), context_->command_timeout), latest()));
}

Status Operation::submit(TimePoint by) {
  await_again();
  deadline = by;
  const auto connection = context_->topology->route(key(), topology::Traffic::kCalls);
  // The thread reads from connection_ only; what goes another way now is read by the loop.
  return connection->submit(shared_from_this(), connection == connection_ ? reader() : nullptr);
}

// Who reads the reply to a request; null: another thread, or the loop.
Parker* Operation::reader() {
  if (parker_ == nullptr) return reader_;
  if (!serve_control_.listens.load()) return parker_;
  const bool here = parker_ == &Parker::of_this_thread();
  // Where a message is for many waiters, each sleeps on until its reply is there.
  if (!here && !listening_.excludes) return nullptr;
  serve_control_.listens.store(false);
  wake(parker_);
  return parker_;
}

void Operation::wake_at(TimePoint at) {
  const bool was_timed = timed_;
  const bool here = parker_ == &Parker::of_this_thread();
  // To wake the thread only for it to sleep again, for a shorter time, would cost more.
  timed_ = parker_ == nullptr || (!here && at < serve_control_.end());
  if (timed_) return context_->timers->arm(shared_from_this(), at);
  if (was_timed) context_->timers->disarm(*this);
  serve_control_.set_until(at);
}

void Operation::listen(const std::string& channel, bool excludes) {
  auto to = context_->topology->subscriber(channel);
  if (!to) return;
  if (parker_ == nullptr) return to->listen();
  // It sleeps where it waited for the reply that another thread has read, and need not wake.
  if (parker_ != &Parker::of_this_thread()) to->expect();
  listening_ = {std::move(to), &channel, excludes};
  serve_control_.listens.store(true, std::memory_order_release);
}

void Operation::finish(Outcome outcome) {
  if (timed_) context_->timers->disarm(*this);
  if (finished()) return;
  outcome_ = std::move(outcome);
  if (const auto completion = std::exchange(completion_, nullptr)) {
    completion->done(id_, *outcome_);
  }
  Parker* const waits = parker_ != nullptr ? parker_ : reader_;
  if (waits == nullptr) return;
  serve_control_.done.store(true, std::memory_order_release);
  wake(waits);
}

// The waiting thread itself, busy with its own reply, sees for itself.
void Operation::wake(Parker* parker) {
  if (parker != &Parker::of_this_thread()) WakeBatch::notify(*parker);
}

void Operation::on_time() { time_is_up(now()); }

namespace {

std::string hint(std::string_view word) {
  using Hint = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Hint, 10> kHints{
      Hint{"WRONGTYPE", "the key holds data that is not a lock: use another name"},
      Hint{"NOAUTH", "give the client a password"},
      Hint{"NOPERM", "grant the user the rights that the documentation lists"},
      Hint{"OOM", "the server has no memory left: raise maxmemory or remove keys"},
      Hint{"MISCONF", "the server cannot save to its disk: see its log"},
      Hint{"READONLY", "this server is a replica: name the primary in the URL"},
      Hint{"NOREPLICAS", "too few replicas are connected: check the replicas"},
      Hint{"LOADING", "the server is starting: try again later"},
      Hint{"BUSY", "another client's script is still running: SCRIPT KILL stops it"},
      Hint{"MASTERDOWN", "this server is a replica that has lost its primary"}};
  const auto is_it = [word](const Hint& hint) { return hint.first == word; };
  const auto found = std::find_if(kHints.begin(), kHints.end(), is_it);
  return found == kHints.end() ? std::string() : "; " + std::string(found->second);
}

}  // namespace

Status error_status(std::string_view text, const LockName& name, const std::string& server) {
  text = resp::error_text(text);
  const std::string word(error_word(text));
  return Status::server(word,
                        quoted(name.bytes()) + " on " + server + ": " + shown(text) + hint(word));
}

Status under_way_status(const LockName& name, bool by_thread) {
  const std::string what = "lock " + quoted(name.bytes()) + " is being acquired by this ";
  if (by_thread) {
    return Status::under_way(what +
                             "thread: a signal handler (or __del__) must not use the same lock");
  }
  return Status::under_way(
      what + "task: it must have been awaited before the task uses the same lock again");
}

Status closed_status(const LockName& name) {
  return Status::closed(quoted(name.bytes()) + ": its client was closed; use an open one");
}

Status unreachable_status(const Status& why, const LockName& name) {
  return why.prefixed(quoted(name.bytes()) + ": ");
}

}  // namespace holdfast::sync
