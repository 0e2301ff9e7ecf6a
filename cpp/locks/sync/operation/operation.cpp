#include "locks/sync/operation/operation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "redis/base/mutex.h"
#include "redis/base/status.h"

namespace holdfast::sync {

std::optional<std::int64_t> number_of(const resp::Reply& reply) {
  if (reply.is_nil()) return std::nullopt;
  if (reply.is_integer()) return reply.integer();
  std::int64_t value = 0;
  const std::string_view text = reply.text();
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Operation::Operation(std::shared_ptr<const Context> context, LockName name, Role role)
    : Exchange(std::move(context), role),
      name_(std::move(name)),
      connection_(this->context().topology->route(key(), topology::Traffic::kCalls)) {}

resp::ReplyKinds Operation::encode(std::string& out, bool by_text) const {
  script::Writer writer = context().writer(out, by_text);
  write(writer);
  return writer.replies();
}

// A thread writes and reads by itself where it can.
void Operation::start(Parker* here) {
  using Exchanged = client::DirectExchange::Exchanged;
  if (!begin(now())) return;
  bool in_line = false;
  if (deferred) {
    in_line = post_first(here);
  } else if (here == nullptr) {
    in_line = submit_first(here);
  } else {
    client::DirectExchange::DirectReply answer;
    const Exchanged way =
        client::DirectExchange(*connection_, *here).exchange(shared_from_this(), answer);
    if (way == Exchanged::kAnswered) return answered_here(resp::Reply(answer.reply), answer.sent);
    in_line = way == Exchanged::kInLine || submit_first(here);
  }
  if (here != nullptr && in_line && !control().serves(now())) left(*here);  // others lead
}

// As its first command, but other threads know of it: it gets its place under the lock, so what
// they send in its place, as they end it, stands behind it. False: it is not in line.
bool Operation::send_here(Parker& here) {
  using Exchanged = client::DirectExchange::Exchanged;
  client::DirectExchange direct(*connection_, here);
  bool begun = false;
  Status refused;
  {
    const MutexLock lock(mutex_);
    if (finished()) return false;
    begun = direct.begin(*this);
    if (!begun) refused = connection_->submit(shared_from_this(), &here);
  }
  if (!begun) {
    if (!refused.ok()) complete(refused, {});
    return refused.ok();
  }
  client::DirectExchange::DirectReply answer;
  if (direct.exchange(shared_from_this(), answer) == Exchanged::kInLine) return true;
  complete(resp::Reply(answer.reply), answer.sent);
  return false;
}

bool Operation::submit_first(Parker* here) {
  const Status refused =
      connection_->submit(shared_from_this(), here != nullptr ? here : first_reader());
  if (!refused.ok()) complete(refused, {});
  return refused.ok();
}

void Operation::wait_in(Parker& here, TimePoint slice) {
  if (std::exchange(control().sends, false)) {
    if (send_here(here) && !control().serves(now())) left(here);
    return;
  }
  Listening listening;
  if (control().listens.load(std::memory_order_acquire)) {
    const MutexLock lock(mutex_);
    listening = listening_;
  }
  if (!listening.to) return serve(here, control(), slice);
  listening.to->wait_for_message({here, *listening.channel, listening.excludes, control()}, slice);
}

// A look without time for it: it leaves what is still to be read to others.
void Operation::left(Parker& here) { serve(here, control(), TimePoint{}); }

Status Operation::submit() {
  return submit(std::min(after(now(), context().command_timeout), latest()));
}

Status Operation::submit(TimePoint by) {
  await_again();
  deadline = by;
  const auto connection = context().topology->route(key(), topology::Traffic::kCalls);
  // The thread reads from connection_ only; what goes another way now is read by the loop.
  return connection->submit(shared_from_this(),
                            connection == connection_ ? reader_of_reply() : nullptr);
}

Status Operation::send_soon() {
  if (!caller_.by_this_thread()) return submit();
  if (context().topology->route(key(), topology::Traffic::kCalls) != connection_) return submit();
  await_again();
  deadline = std::min(after(now(), context().command_timeout), latest());
  control().listens.store(false);
  control().sends = true;
  return {};
}

// A client that is closed needs it no more.
void Operation::send_beside(client::RequestPtr request) const {
  if (!request) return;
  const auto way = context().topology->route(request->key(), topology::Traffic::kCalls);
  (void)way->submit(std::move(request));
}

// The reader of the reply to a request; null: another thread, or the loop.
Parker* Operation::reader_of_reply() {
  if (!caller_.by_thread()) return caller_.reader;
  if (caller_.interrupted) return nullptr;
  if (!control().listens.load()) return caller_.thread;
  // Where a message is for many waiters, each sleeps on until its reply is there.
  if (!caller_.by_this_thread() && !listening_.excludes) return nullptr;
  control().listens.store(false);
  wake(caller_.thread);
  return caller_.thread;
}

void Operation::listen(const std::string& channel, bool excludes) {
  auto to = context().topology->subscriber(channel);
  if (!to) return;
  if (!caller_.by_thread()) return to->listen();
  // It sleeps where it waited for the reply that another thread has read, and need not wake.
  if (!caller_.by_this_thread()) to->expect();
  listening_ = {std::move(to), &channel, excludes};
  control().listens.store(true, std::memory_order_release);
}

Status error_status(std::string_view text, const LockName& name, const std::string& server) {
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
  text = resp::error_text(text);
  const std::string word(error_word(text));
  std::string message = quoted(name.bytes()) + " on " + server + ": " + shown(text);
  for (const auto& [its_word, hint] : kHints) {
    if (its_word == word) message.append("; ").append(hint);
  }
  return Status::server(word, message);
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

Status unreachable_status(const Status& why, const LockName& name, const CallersTime& time,
                          TimePoint now) {
  return time.is_late(why, now) ? time.late(name.bytes(), why) : unreachable_status(why, name);
}

}  // namespace holdfast::sync
