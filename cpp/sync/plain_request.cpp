#include "sync/plain_request.h"

#include <utility>

#include "base/wake_batch.h"

namespace holdfast::sync {

namespace {
// Ctrl-C must end a wait within 0.1 s.
constexpr Millis kSlice{50};
}  // namespace

std::shared_ptr<PlainRequest> PlainRequest::of_this_thread() {
  thread_local std::shared_ptr<PlainRequest> own;
  if (!own || own.use_count() > 1) own = std::make_shared<PlainRequest>();
  return own;
}

void PlainRequest::prepare(std::string_view key, std::initializer_list<std::string_view> command,
                           resp::ReplyKinds replies) {
  key_.assign(key);
  replies_ = replies;
  command_.clear();
  for (const std::string_view piece : command) command_ += piece;
  parker_ = &Parker::of_this_thread();
  control_.done.store(false, std::memory_order_relaxed);
  state_.store(State::kOpen, std::memory_order_relaxed);
  plain_.reset();
  reply_.reset();
  successor_.reset();
  readopt();
}

bool PlainRequest::exchange(const std::shared_ptr<PlainRequest>& self,
                            client::Connection& connection, const Clock& clock,
                            Interrupt* interrupt) {
  using Alone = client::Connection::Alone;
  client::Connection::PlainAnswer answer;
  switch (connection.exchange(self, *self->parker_, answer)) {
    case Alone::kAnswered:
      self->plain_ = answer.reply;
      self->sent_ = answer.sent;
      return true;
    case Alone::kInLine:
      break;
    case Alone::kRefused:
      self->sent_ = {};
      if (const Status refused = connection.submit(self, self->parker_); !refused.ok()) {
        self->keep(refused);
        return true;
      }
      break;
  }
  return self->wait(connection, clock, interrupt);
}

bool PlainRequest::wait(client::Connection& connection, const Clock& clock, Interrupt* interrupt) {
  for (;;) {  // once at least: others may wait for a leader
    connection.serve(*parker_, control_, interrupt != nullptr ? clock.now() + kSlice : kNever);
    if (control_.done.load(std::memory_order_acquire)) return true;
    if (interrupt != nullptr && interrupt->pending()) return false;
  }
}

void PlainRequest::keep(Result<resp::Reply> reply) {
  if (reply.ok()) plain_ = resp::plain_reply(reply.value());
  if (!plain_) reply_.emplace(std::move(reply));
}

Result<resp::Reply> PlainRequest::take_reply() {
  if (plain_) return resp::Reply(*plain_);
  return std::move(*reply_);
}

bool PlainRequest::pass_on(client::RequestPtr successor) {
  successor_ = std::move(successor);
  State open = State::kOpen;
  if (state_.compare_exchange_strong(open, State::kPassedOn)) return true;
  successor_.reset();
  return false;
}

void PlainRequest::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  if (state_.load(std::memory_order_acquire) == State::kOpen) {
    sent_ = sent;
    keep(std::move(reply));
    Parker* const parker = parker_;
    State open = State::kOpen;
    if (state_.compare_exchange_strong(open, State::kAnswered)) {
      control_.done.store(true, std::memory_order_release);
      if (parker != &Parker::of_this_thread()) WakeBatch::notify(*parker);
      return;
    }
    reply = take_reply();
  }
  successor_->complete(std::move(reply), sent);
}

}  // namespace holdfast::sync
