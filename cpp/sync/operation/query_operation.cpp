#include "sync/operation/query_operation.h"

#include <algorithm>
#include <charconv>
#include <string>
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

void QueryOperation::begin() {
  {
    const MutexLock lock(mutex_);
    start();
    if (!by_thread() || (query_.held_up && query_.held_up())) return send();
  }
  const Status closed = exchange();
  if (closed.ok()) return;
  const MutexLock lock(mutex_);
  if (!finished()) failed(unreachable_status(closed, name()), false);
}

void QueryOperation::start() {
  const TimePoint at = now();
  if (query_.within) latest_ = after(at, *query_.within);
  give_up_ = std::min(after(at, context().command_timeout), latest_);
  if (!query_.returns) return;
  const Query::Return& what = *query_.returns;
  const Millis lasts =
      what.lease > Millis(0) ? what.lease : context().command_timeout + what.longer;
  serial_ = context().keeper->releases().take_back(name(), what.owner, shared_from_this(),
                                                   after(at, lasts));
}

// Its pending release is over.
void QueryOperation::settle() {
  using End = lease::Releases::End;
  if (!query_.returns) return;
  context().keeper->releases().ended(name(), query_.returns->owner, serial_, End::kDone);
}

void QueryOperation::cancel() {
  const MutexLock lock(mutex_);
  if (finished()) return;
  cancelled_ = true;
  if (!query_.returns) return abandon();
  if (!backing_off_) return;  // complete() follows
  leave_pending(true);
  finish({Verdict::kCancelled});
}

resp::ReplyKinds QueryOperation::encode(std::string& out, bool by_text) const {
  script::Writer writer = context().writer(out, by_text);
  query_.encode(writer);
  return writer.replies();
}

void QueryOperation::send() {
  if (query_.held_up && now() < give_up_ && query_.held_up()) {
    return wake_at(after(now(), kHeldUp));
  }
  wake_at(kNever);
  backing_off_ = false;
  const Status closed = submit();
  if (!closed.ok()) failed(unreachable_status(closed, name()), false);
}

void QueryOperation::time_is_up(TimePoint /*now*/) {
  const MutexLock lock(mutex_);
  if (finished()) return;
  if (cancelled_ && !query_.returns) return finish({Verdict::kCancelled});
  send();
}

void QueryOperation::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  const MutexLock lock(mutex_);
  if (finished()) return;
  const bool refusal = reply.ok() && reply.value().is_error();
  maybe_done_ = maybe_done_ || sent.times > (refusal ? 1 : 0);
  if (!reply.ok()) return failed(unreachable_status(reply.status(), name()), false);
  if (refusal) return refused(reply.value().text());
  settle();
  std::optional<std::int64_t> value = number(reply.value());
  if (query_.answered) query_.answered(value, sent);
  finish({Verdict::kGranted, {}, value});
}

void QueryOperation::failed(const Status& why, bool refused_for_now) {
  if (query_.returns && why.code() != Code::kClosed) leave_pending(refused_for_now);
  finish({Verdict::kFailed, why});
}

void QueryOperation::leave_pending(bool refused_for_now) {
  const Query::Return& what = *query_.returns;
  PendingRelease::resume(shared_context(),
                         {name(), what.owner, query_.encode, what.longer, maybe_done_}, serial_,
                         refused_for_now);
}

void QueryOperation::refused(std::string_view text) {
  const Status why =
      error_status(text, name(), context().topology->text()).as_repeated(maybe_done_);
  if (!is_temporary(text)) {
    settle();
    return finish({Verdict::kFailed, why});
  }
  if (cancelled_ || now() >= give_up_) return failed(why, true);
  backing_off_ = true;
  wake_at(after(now(), kRefusalBackoff));
}

}  // namespace holdfast::sync
