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

std::optional<std::int64_t> Query::value_of(const resp::Reply& reply,
                                            const client::Sent& sent) const {
  std::optional<std::int64_t> value = number(reply);
  if (answered) answered(value, sent);
  return value;
}

void Query::settle(const Context& context, lease::Releases::Serial serial) const {
  using End = lease::Releases::End;
  if (returns) context.keeper->releases().ended(name, returns->owner, serial, End::kDone);
}

QueryOperation::QueryOperation(std::shared_ptr<const Context> context, Query query, Begun begun)
    : Operation(std::move(context), query.name),
      query_(std::move(query)),
      serial_(begun.serial),
      latest_(query_.latest(begun.at)),
      give_up_(std::min(after(begun.at, this->context().command_timeout), latest_)) {}

void QueryOperation::begin() {
  const MutexLock lock(mutex_);
  send();
}

void QueryOperation::resume() {
  const MutexLock lock(mutex_);
  waited_for_here();
  if (!query_.returns) return;
  const auto self = shared_from_this();
  if (!context().keeper->releases().resume(name(), query_.returns->owner, serial_, self)) revoke();
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
  if (!closed.ok()) finish({Verdict::kFailed, closed});
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
  query_.settle(context(), serial_);
  finish({Verdict::kGranted, {}, query_.value_of(reply.value(), sent)});
}

void QueryOperation::failed(const Status& why, bool refused_for_now) {
  if (why.code() == Code::kRevoked && !revoked())
    return send();  // the call's command was, for this
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
    query_.settle(context(), serial_);
    return finish({Verdict::kFailed, why});
  }
  if (cancelled_ || now() >= give_up_) return failed(why, true);
  backing_off_ = true;
  wake_at(after(now(), kRefusalBackoff));
}

}  // namespace holdfast::sync
