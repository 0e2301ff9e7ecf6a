#include "sync/call_operation.h"

#include <charconv>
#include <utility>

namespace holdfast::sync {

namespace {

constexpr Millis kRefusedRest{50};

std::optional<std::int64_t> number(const resp::Reply& reply) {
  if (reply.is_nil()) return std::nullopt;
  if (reply.is_integer()) return reply.integer();
  std::int64_t value = 0;
  const std::string_view text = reply.text();
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// A call whose caller no longer waits. It is sent with the script's text: a reply NOSCRIPT would
// not be read.
class LateCall final : public client::Request {
 public:
  LateCall(LockName name, CallOperation::Encode encode)
      : name_(std::move(name)), encode_(std::move(encode)) {
    persistent = true;
  }

  std::string_view key() const override { return name_.bytes(); }

  void encode(std::string& out) const override { encode_(out, true); }
  void complete(Result<resp::Reply> /*reply*/, const client::Sent& /*sent*/) override {}

 private:
  const LockName name_;
  const CallOperation::Encode encode_;
};

}  // namespace

CallOperation::CallOperation(std::shared_ptr<const Context> context, LockName name, Encode encode,
                             Answered answered)
    : Operation(std::move(context), std::move(name)),
      encode_(std::move(encode)),
      answered_(std::move(answered)) {}

void CallOperation::begin() {
  const Lock lock(mutex_);
  give_up_ = after(now(), context().command_timeout);
  go();
}

void CallOperation::cancel() {
  const Lock lock(mutex_);
  if (longer_) return;
  cancelled_ = true;
  abandon();
}

void CallOperation::go() {
  wake_at(kNever);
  const Status closed = submit();
  if (!closed.ok()) finish({Verdict::kFailed, closed});
}

void CallOperation::time_is_up(TimePoint /*now*/) {
  const Lock lock(mutex_);
  if (finished()) return;
  if (cancelled_) return finish({Verdict::kCancelled});
  go();
}

void CallOperation::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  const Lock lock(mutex_);
  if (finished()) return;
  if (!reply.ok()) return unreachable(reply.status());
  if (reply.value().is_error()) return refused(reply.value().text());
  std::optional<std::int64_t> value = number(reply.value());
  if (answered_) answered_(value, sent);
  finish({Verdict::kGranted, {}, value});
}

void CallOperation::unreachable(const Status& why) {
  if (longer_) {
    const auto late = std::make_shared<LateCall>(name(), encode_);
    late->deadline = after(now(), *longer_);
    const auto connection = context().topology->route(late->key(), topology::Traffic::kCalls);
    (void)connection->submit(late);  // a closed client leaves it undone
  }
  finish({Verdict::kFailed, unreachable_status(why, name())});
}

void CallOperation::refused(std::string_view text) {
  const ErrorKind kind = error_kind(text);
  if (kind == ErrorKind::kUnknownScript && !by_text_ && !cancelled_) {
    by_text_ = true;
    return go();
  }
  if (kind == ErrorKind::kPasses && now() < give_up_ && !cancelled_) {
    return wake_at(after(now(), kRefusedRest));
  }
  finish({Verdict::kFailed, error_status(text, name(), context().topology->text())});
}

}  // namespace holdfast::sync
