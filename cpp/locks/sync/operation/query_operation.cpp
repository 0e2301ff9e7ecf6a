#include "locks/sync/operation/query_operation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "redis/base/mutex.h"

namespace holdfast::sync {

bool QueryOperation::begin(TimePoint now) {
  const CallersTime& time = query_.time;
  give_up_ = std::min(after(now, context().command_timeout), time.latest());
  const TimePoint refused = after(now, time.refusal_budget(context().command_timeout));
  refused_until_ = std::min({refused, give_up_, time.deadline()});
  deadline = give_up_;
  connect_deadline = time.connect_deadline();
  if (!query_.held_up || !query_.held_up()) return true;
  const MutexLock lock(mutex_);
  send();
  return false;
}

void QueryOperation::cancel() {
  const MutexLock lock(mutex_);
  if (finished()) return;
  cancelled_ = true;
  revoke();
  abandon();
}

void QueryOperation::send() {
  if (query_.held_up && now() < give_up_ && query_.held_up()) {
    return wake_at(after(now(), kHeldUp));
  }
  wake_at(kNever);
  const Status closed = submit();
  if (!closed.ok()) finish({Verdict::kFailed, unreachable_status(closed, name())});
}

void QueryOperation::time_is_up(TimePoint /*now*/) {
  const MutexLock lock(mutex_);
  if (finished()) return;
  if (cancelled_) return finish({Verdict::kCancelled});
  send();
}

void QueryOperation::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  const MutexLock lock(mutex_);
  if (finished()) return;
  const bool refusal = reply.ok() && reply.value().is_error();
  maybe_done_ = maybe_done_ || sent.times > (refusal ? 1 : 0);
  if (!reply.ok()) {
    return finish(
        {Verdict::kFailed, unreachable_status(reply.status(), name(), query_.time, now())});
  }
  if (refusal) {
    const std::string_view text = reply.value().text();
    const bool waits = is_temporary(text) && !cancelled_ && now() < refused_until_;
    if (waits) return wake_at(after(now(), kRefusalBackoff));
    return finish(
        {Verdict::kFailed,
         error_status(text, name(), context().topology->text()).as_repeated(maybe_done_)});
  }
  if (query_.whole_reply) {
    replies_.all.emplace_back(std::move(reply.value()));
    return finish({Verdict::kGranted});
  }
  std::optional<std::int64_t> value = number_of(reply.value());
  if (query_.answered) query_.answered(value, sent);
  finish({Verdict::kGranted, {}, value});
}

Exchange::About QueryOperation::about() {
  if (!query_.releases) return {};
  About about = *query_.releases;
  const MutexLock lock(mutex_);
  about.last = finished() && outcome()->value;
  return about;
}

}  // namespace holdfast::sync
