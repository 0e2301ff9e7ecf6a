#include "locks/sync/operation/transfer_operation.h"

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
    recipe->steps().move.write(out, {name, field, 1, lease, {}, to});
  };
  return std::make_shared<StepRelease>(context, name, from, StepRelease::What{std::move(write)});
}

}  // namespace

void TransferOperation::move(Transfer transfer) {
  transfer_ = std::move(transfer);
  give_up_ = after(now(), context().command_timeout);
  send();
}

void TransferOperation::send() {
  wake_at(kNever);
  const Status closed = submit();
  if (!closed.ok()) finish({Verdict::kFailed, closed});
}

void TransferOperation::cancel() {
  const MutexLock lock(mutex_);
  if (std::exchange(cancelled_, true)) return;
  if (!finished()) {
    abandon();
    return unanswered();
  }
  if (outcome()->verdict == Verdict::kGranted) taken_back();
}

void TransferOperation::time_is_up(TimePoint /*now*/) {
  const MutexLock lock(mutex_);
  if (finished()) return;
  if (cancelled_) return finish({Verdict::kCancelled});
  send();
}

void TransferOperation::write(script::Writer& out) const {
  recipe_.steps().move.write(out, {name(), transfer_.from, 1, transfer_.lease, {}, transfer_.to});
}

void TransferOperation::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  const MutexLock lock(mutex_);
  if (finished()) return;
  if (cancelled_) return finish({Verdict::kCancelled});
  if (!reply.ok()) return failed(unreachable_status(reply.status(), name()));
  if (reply.value().is_error()) return refused(reply.value().text());
  if (reply.value().is_nil()) return not_there();
  moved(Millis(reply.value().integer()), sent);
}

void TransferOperation::refused(std::string_view text) {
  if (is_temporary(text) && now() < give_up_) return wake_at(after(now(), kRefusalBackoff));
  failed(error_status(text, name(), context().topology->text()));
}

void TransferOperation::failed(const Status& why) {
  unanswered();
  finish({Verdict::kFailed, why});
}

DetachOperation::DetachOperation(std::shared_ptr<const Context> context, const LockRecipe& recipe,
                                 LockName name, OwnerNumber owner, Millis lease)
    : TransferOperation(std::move(context), recipe, std::move(name), Role::kRelease),
      owner_(owner),
      lease_(lease) {}

Exchange::About DetachOperation::about() {
  const MutexLock lock(mutex_);
  return {recipe().kind(), owner_, finished() && outcome()->verdict == Verdict::kGranted};
}

void DetachOperation::begin_move() {
  const MutexLock lock(mutex_);
  using Plan = lease::ReleasePlan::Verdict;
  lease::ReleasePlan plan = context().keeper->releases().begin_detach(name(), owner_, lease_);
  if (plan.verdict == Plan::kLost) return finish({Verdict::kGone, Status::invalid(plan.reason)});
  if (plan.verdict == Plan::kNotOwned) {
    if (!context().keeper->is_closed()) return finish({Verdict::kBusy});
    return finish({Verdict::kFailed, closed_status(name())});
  }
  move({field(owner_), std::move(plan.other), lease_});
}

void DetachOperation::moved(Millis remaining, const client::Sent& /*sent*/) {
  // The client has found it lost by now, and reported that: the ticket must not be returned.
  if (context().keeper->count(name(), owner_) == 0) return not_there();
  finish({Verdict::kGranted, {}, remaining.count()});
}

void DetachOperation::not_there() {
  context().keeper->lose(name(), owner_, lease::kGone);
  const lease::ReleasePlan plan =
      context().keeper->releases().begin_giving_back(name(), owner_, {lease::Ending::How::kAll});
  if (!plan.reason.empty()) return finish({Verdict::kGone, Status::invalid(plan.reason)});
  // The keeper no longer has a record of the hold.
  finish({Verdict::kGone,
          Status::invalid(context().keeper->is_closed() ? "the client was closed" : lease::kGone)});
}

AttachOperation::AttachOperation(std::shared_ptr<const Context> context, const LockRecipe& recipe,
                                 LockName name, Ticket ticket, const Recipient& recipient)
    : TransferOperation(std::move(context), recipe, std::move(name), Role::kAcquire),
      ticket_(std::move(ticket)),
      recipient_(recipient) {}

void AttachOperation::begin_move() {
  const MutexLock lock(mutex_);
  // The owner is new.
  attempt_.emplace(*context().keeper, name(), recipient_.owner);
  const lease::AttemptPlan plan = attempt_->begin();
  if (plan.verdict != lease::AttemptPlan::Verdict::kBegun) return closed();
  if (ticket_.minimum == Millis(0)) attempt_->record(recipe(), recipient_.lease.time);
  move({ticket_.field, field(recipient_.owner), recipient_.lease.time});
}

// What remains of the minimum, less the time since the detach, which the shortened lease on the
// server shows. Not known (a repetition): no time is subtracted.
void AttachOperation::moved(Millis remaining, const client::Sent& sent) {
  const Millis passed =
      remaining < Millis(0) ? Millis(0) : std::max(ticket_.lease - remaining, Millis(0));
  lease::Grant grant{name(), recipient_.owner, 1, recipient_.lease, sent.last, &recipe()};
  grant.listener = recipient_.listener;
  grant.token = ticket_.token;
  grant.at_least = std::max(ticket_.minimum - passed, Millis(0));
  grant.at = now();
  if (!attempt_->granted(grant)) {
    unanswered();
    return closed();
  }
  context().stats->granted(false, Duration::zero());
  finish({Verdict::kGranted, {}, remaining.count()});
}

void AttachOperation::not_there() {
  over();
  finish({Verdict::kGone,
          Status::invalid("its ticket has been used before or has expired, or the lock was "
                          "released by force")});
}

void AttachOperation::closed() {
  over();
  finish({Verdict::kFailed, closed_status(name())});
}

void AttachOperation::unanswered() {
  if (attempt_) attempt_->leave_record();
  return_to(shared_context(), recipe(), name(), ticket_, recipient_.owner)
      ->take_back(ticket_.lease);
  over();
}

void AttachOperation::over() { attempt_.reset(); }

void AttachOperation::taken_back() {
  give_back(shared_context(), recipe(), name(), ticket_, recipient_.owner);
}

void AttachOperation::give_back(const std::shared_ptr<const Context>& context,
                                const LockRecipe& recipe, const LockName& name,
                                const Ticket& ticket, OwnerNumber owner) {
  const std::shared_ptr<Release> release = return_to(context, recipe, name, ticket, owner);
  const lease::ReleasePlan plan = context->keeper->releases().begin_giving_back(
      name, owner, {lease::Ending::How::kAll}, {release});
  if (plan.verdict == lease::ReleasePlan::Verdict::kFinal) release->run_alone(plan.until);
}

}  // namespace holdfast::sync
