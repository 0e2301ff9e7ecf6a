#include "sync/call/first_acquire.h"

#include <algorithm>
#include <utility>

#include "sync/operation/acquire_operation.h"

namespace holdfast::sync {

FirstStep FirstAcquire::begin(TimePoint now) {
  const AcquireRequest& request = this->request();
  begun_ = now;
  if (!may_begin()) return {false};
  count_ = request.again ? std::max(plan_.count - 1, 1) : plan_.count;
  return {true, request.connect_deadline_at(now), request.time(now).latest()};
}

bool FirstAcquire::may_begin() {
  if (context().acknowledger) return false;
  if (!request().synchronizer->idle(context(), request().owner)) return false;
  if (account_.held_up()) return false;
  plan_ = account_.begin();
  return plan_.verdict == lease::AttemptPlan::Verdict::kBegun;
}

resp::ReplyKinds FirstAcquire::encode(std::string& out, bool by_text) const {
  script::Writer writer = context().writer(out, by_text);
  request().recipe().acquire(writer, request().step(context(), count_));
  return writer.replies();
}

std::optional<Outcome> FirstAcquire::finish(const resp::Reply& reply, const client::Sent& sent,
                                            wait::Calls& /*calls*/) {
  if (reply.is_error()) return std::nullopt;
  const Recipe& recipe = request().recipe();
  const Answer answer = recipe.acquired(reply);
  if (answer.kind != Answer::Kind::kGranted) return std::nullopt;
  const TimePoint now = context().clock.now();
  const bool late = recipe.grants_end() && now >= trusted_until(sent.last, request().lease.time);
  if (late || !account_.keep({count_, sent.last, answer.value, now})) return std::nullopt;
  request().report_other(context(), answer);
  account_.close();
  AcquireStats(*context().stats, request().stats()).ended(Verdict::kGranted, now - begun_);
  return Outcome{Verdict::kGranted, {}, answer.value};
}

OperationPtr FirstAcquire::operation(bool sent) {
  AcquireOperation::Begun begun{begun_, sent ? std::optional(plan_) : std::nullopt};
  return std::make_shared<AcquireOperation>(std::move(account_), begun);
}

// With `again`, another acquisition gives the hold back.
void FirstAcquire::take_back() const {
  if (!request().again) account_.give_back();
}

}  // namespace holdfast::sync
