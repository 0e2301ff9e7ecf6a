#include "locks/sync/operation/attach_operation.h"

#include <algorithm>
#include <utility>

#include "locks/sync/operation/release.h"
#include "redis/base/mutex.h"

namespace holdfast::sync {

namespace {

// Returns the hold that `from` may have to the ticket.
std::shared_ptr<Release> return_to(const std::shared_ptr<const Context>& context,
                                   const LockRecipe& recipe, const LockName& name,
                                   const Ticket& ticket, OwnerNumber from) {
  const std::string field = owner_field(context->client_id, from);
  auto write = [recipe = &recipe, name = LockName(name), field, to = ticket.field,
                lease = ticket.lease](script::Writer& out) {
    recipe->steps.move.write(out, {name, field, 1, lease, {}, to});
  };
  return std::make_shared<StepRelease>(context, name, from, StepRelease::Command{std::move(write)});
}

}  // namespace

AttachOperation::AttachOperation(std::shared_ptr<const Context> context, const LockRecipe& recipe,
                                 LockName name, Ticket ticket, const Recipient& recipient)
    : Operation(std::move(context), std::move(name), Role::kAcquire),
      recipe_(recipe),
      ticket_(std::move(ticket)),
      recipient_(recipient) {}

bool AttachOperation::begin(TimePoint now) {
  const MutexLock lock(mutex_);
  attempt_.emplace(*context().keeper, name(), recipient_.owner);  // a new owner
  const bool begun = attempt_->begin().kind == lease::AttemptPlan::Kind::kBegun;
  if (!begun) {
    over(Verdict::kFailed, closed_status(name()));
    return false;
  }
  if (ticket_.minimum == Millis(0)) attempt_->record(recipe_, recipient_.lease.time);
  give_up_ = after(now, context().command_timeout);
  send();
  return false;
}

void AttachOperation::send() {
  wake_at(kNever);
  const Status closed = submit();
  if (!closed.ok()) finish({Verdict::kFailed, closed});
}

void AttachOperation::write(script::Writer& out) const {
  recipe_.steps.move.write(
      out, {name(), ticket_.field, 1, recipient_.lease.time, {}, field(recipient_.owner)});
}

void AttachOperation::cancel() {
  const MutexLock lock(mutex_);
  if (std::exchange(cancelled_, true)) return;
  if (!finished()) {
    abandon();
    return unanswered();
  }
  if (outcome()->verdict != Verdict::kGranted) return;
  give_back(shared_context(), recipe_, name(), ticket_, recipient_.owner);
}

void AttachOperation::time_is_up(TimePoint /*now*/) {
  const MutexLock lock(mutex_);
  if (finished()) return;
  if (cancelled_) return finish({Verdict::kCancelled});
  send();
}

void AttachOperation::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  const MutexLock lock(mutex_);
  if (finished()) return;
  if (cancelled_) return finish({Verdict::kCancelled});
  if (!reply.ok()) return failed(unreachable_status(reply.status(), name()));
  if (reply.value().is_error()) {
    const std::string_view text = reply.value().text();
    if (is_temporary(text) && now() < give_up_) return wake_at(after(now(), kRefusalBackoff));
    return failed(error_status(text, name(), context().topology->text()));
  }
  if (reply.value().is_nil()) {
    return over(Verdict::kGone, Status::invalid("its ticket has been used before or has expired, "
                                                "or the lock was released by force"));
  }
  // What remains of the minimum, less the time since the detach, which the shortened lease on the
  // server shows. Not known (a repetition): no time is subtracted.
  const Millis remaining(reply.value().integer());
  const Millis passed =
      remaining < Millis(0) ? Millis(0) : std::max(ticket_.lease - remaining, Millis(0));
  lease::Grant grant{name(), recipient_.owner, 1, recipient_.lease, sent.last, &recipe_};
  grant.listener = recipient_.listener;
  grant.token = ticket_.token;
  grant.at_least = std::max(ticket_.minimum - passed, Millis(0));
  grant.at = now();
  if (!attempt_->granted(grant)) return failed(closed_status(name()));
  context().stats->granted(false, Duration::zero());
  finish({Verdict::kGranted, {}, remaining.count()});
}

void AttachOperation::failed(const Status& why) {
  unanswered();
  finish({Verdict::kFailed, why});
}

void AttachOperation::unanswered() {
  if (attempt_) attempt_->leave_record();
  return_to(shared_context(), recipe_, name(), ticket_, recipient_.owner)->take_back(ticket_.lease);
  attempt_.reset();
}

void AttachOperation::over(Verdict verdict, const Status& why) {
  attempt_.reset();
  finish({verdict, why});
}

void AttachOperation::give_back(const std::shared_ptr<const Context>& context,
                                const LockRecipe& recipe, const LockName& name,
                                const Ticket& ticket, OwnerNumber owner) {
  const std::shared_ptr<Release> release = return_to(context, recipe, name, ticket, owner);
  const lease::ReleasePlan plan = context->keeper->releases.begin_giving_back(
      name, owner, {lease::Ending::How::kAll}, {release});
  if (plan.kind == lease::ReleasePlan::Kind::kFinal) release->run_alone(plan.until);
}

}  // namespace holdfast::sync
