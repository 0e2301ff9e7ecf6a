#include "sync/operation/call_operation.h"

#include <charconv>
#include <utility>

#include "base/mutex.h"
#include "sync/operation/pending_release.h"

namespace holdfast::sync {

namespace {

std::optional<std::int64_t> number(const resp::Reply& reply) {
  if (reply.is_nil()) return std::nullopt;
  if (reply.is_integer()) return reply.integer();
  std::int64_t value = 0;
  const std::string_view text = reply.text();
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

CallOperation::CallOperation(std::shared_ptr<const Context> context, LockName name, Encode encode,
                             Answered answered)
    : Operation(std::move(context), std::move(name)),
      encode_(std::move(encode)),
      answered_(std::move(answered)) {}

void CallOperation::begin() {
  const MutexLock lock(mutex_);
  give_up_ = after(now(), context().command_timeout);
  if (return_) {
    const TimePoint until = return_->lease > Millis(0)
                                ? after(now(), return_->lease)
                                : after(now(), context().command_timeout + return_->longer);
    turn_ = context().keeper->take_back(name(), return_->owner, shared_from_this(), until);
  }
  go();
}

void CallOperation::cancel() {
  const MutexLock lock(mutex_);
  if (finished()) return;
  cancelled_ = true;
  if (!return_) return abandon();
  if (!resting_) return;  // complete() follows
  leave_to_ledger(true);
  finish({Verdict::kCancelled});
}

resp::ReplyKinds CallOperation::encode(std::string& out) const {
  script::Writer writer = context().writer(out, by_text_);
  encode_(writer);
  return writer.replies();
}

void CallOperation::go() {
  wake_at(kNever);
  resting_ = false;
  const Status closed = submit();
  if (!closed.ok()) finish({Verdict::kFailed, closed});
}

void CallOperation::time_is_up(TimePoint /*now*/) {
  const MutexLock lock(mutex_);
  if (finished()) return;
  if (cancelled_ && !return_) return finish({Verdict::kCancelled});
  go();
}

void CallOperation::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  const MutexLock lock(mutex_);
  if (finished()) return;
  const bool refusal = reply.ok() && reply.value().is_error();
  maybe_done_ = maybe_done_ || sent.times > (refusal ? 1 : 0);
  if (!reply.ok()) return failed(unreachable_status(reply.status(), name()), false);
  if (refusal) return refused(reply.value().text());
  settle();
  std::optional<std::int64_t> value = number(reply.value());
  if (answered_) answered_(value, sent);
  finish({Verdict::kGranted, {}, value});
}

void CallOperation::settle() {
  using LateEnd = lease::LeaseKeeper::LateEnd;
  if (return_) context().keeper->ended_late(name(), return_->owner, turn_, LateEnd::kDone);
}

void CallOperation::failed(const Status& why, bool rested) {
  if (return_ && why.code() != Code::kClosed) leave_to_ledger(rested);
  finish({Verdict::kFailed, why});
}

void CallOperation::leave_to_ledger(bool rested) {
  PendingRelease::carry_on(shared_context(),
                           {name(), return_->owner, encode_, return_->longer, maybe_done_}, turn_,
                           rested);
}

void CallOperation::refused(std::string_view text) {
  const ErrorKind kind = error_kind(text);
  const bool unwanted = cancelled_ && !return_;
  if (kind == ErrorKind::kUnknownScript && !by_text_ && !unwanted) {
    by_text_ = true;
    return go();
  }
  const Status why = error_status(text, name(), context().topology->text());
  if (kind != ErrorKind::kPasses) {
    settle();
    return finish({Verdict::kFailed, why});
  }
  if (cancelled_ || now() >= give_up_) return failed(why, true);
  resting_ = true;
  wake_at(after(now(), kRefusalBackoff));
}

}  // namespace holdfast::sync
