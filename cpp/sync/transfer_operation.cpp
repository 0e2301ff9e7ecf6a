#include "sync/transfer_operation.h"

#include <algorithm>
#include <utility>

namespace holdfast::sync {

namespace {

constexpr Millis kRefusedRest{50};
constexpr const char* kUnknown =
    "the server no longer has it (it expired, was removed, or the server lost its data)";

// A transfer without a waiting caller. It is sent with the script's text: a reply NOSCRIPT would
// not be read.
class LateTransfer final : public client::Request {
 public:
  LateTransfer(const Recipe& recipe, LockName name, TransferOperation::Transfer transfer,
               std::string_view publish)
      : recipe_(recipe), name_(std::move(name)), transfer_(std::move(transfer)), publish_(publish) {
    persistent = true;
  }

  std::string_view key() const override { return name_.bytes(); }
  void encode(std::string& out) const override {
    recipe_.move(out, {name_, transfer_.from, 1, transfer_.lease, publish_, true}, transfer_.to);
  }
  void complete(Result<resp::Reply> /*reply*/, const client::Sent& /*sent*/) override {}

 private:
  const Recipe& recipe_;
  const LockName name_;
  const TransferOperation::Transfer transfer_;
  const std::string_view publish_;
};

// The hold that is under `field`, if there is one, becomes the ticket's again.
void return_to(const Context& context, const Recipe& recipe, const LockName& name,
               const Ticket& ticket, const std::string& field) {
  const auto late = std::make_shared<LateTransfer>(
      recipe, name, TransferOperation::Transfer{field, ticket.field, ticket.lease},
      context.topology->publish_command());
  late->deadline = after(context.clock.now(), ticket.lease);
  const auto connection = context.topology->route(late->key(), topology::Traffic::kCalls);
  (void)connection->submit(late);  // a closed client leaves it to its lease
}

}  // namespace

void TransferOperation::send(Transfer transfer) {
  transfer_ = std::move(transfer);
  give_up_ = after(now(), context().command_timeout);
  go();
}

void TransferOperation::go() {
  wake_at(kNever);
  const Status closed = submit();
  if (!closed.ok()) finish({Verdict::kFailed, closed});
}

void TransferOperation::cancel() {
  const Lock lock(mutex_);
  if (std::exchange(cancelled_, true)) return;
  if (!finished()) {
    abandon();
    return unanswered();
  }
  if (outcome()->verdict == Verdict::kGranted) taken_back();
}

void TransferOperation::time_is_up(TimePoint /*now*/) {
  const Lock lock(mutex_);
  if (finished()) return;
  if (cancelled_) return finish({Verdict::kCancelled});
  go();
}

void TransferOperation::encode(std::string& out) const {
  const std::string_view publish = context().topology->publish_command();
  recipe_.move(out, {name(), transfer_.from, 1, transfer_.lease, publish, by_text_}, transfer_.to);
}

void TransferOperation::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  const Lock lock(mutex_);
  if (finished()) return;
  if (cancelled_) return finish({Verdict::kCancelled});
  if (!reply.ok()) return failed(unreachable_status(reply.status(), name()));
  if (reply.value().is_error()) return refused(reply.value().text());
  if (reply.value().is_nil()) return not_there();
  moved(Millis(reply.value().integer()), sent);
}

void TransferOperation::refused(std::string_view text) {
  const ErrorKind kind = error_kind(text);
  if (kind == ErrorKind::kUnknownScript && !by_text_) {
    by_text_ = true;
    return go();
  }
  if (kind == ErrorKind::kPasses && now() < give_up_) return wake_at(after(now(), kRefusedRest));
  failed(error_status(text, name(), context().topology->text()));
}

void TransferOperation::failed(const Status& why) {
  unanswered();
  finish({Verdict::kFailed, why});
}

DetachOperation::DetachOperation(std::shared_ptr<const Context> context, const Recipe& recipe,
                                 LockName name, OwnerNumber owner, Millis lease)
    : TransferOperation(std::move(context), recipe, std::move(name)),
      owner_(owner),
      lease_(lease) {}

void DetachOperation::begin() {
  const Lock lock(mutex_);
  using Plan = lease::ReleasePlan::Verdict;
  lease::ReleasePlan plan = context().keeper->begin_detach(name(), owner_, lease_);
  if (plan.verdict == Plan::kLost) return finish({Verdict::kGone, Status::invalid(plan.reason)});
  if (plan.verdict == Plan::kNotOwned && !context().keeper->closed()) {
    return finish({Verdict::kBusy});
  }
  send({field(owner_), std::move(plan.other), lease_});
}

void DetachOperation::moved(Millis left, const client::Sent& /*sent*/) {
  // Lost meanwhile by the client's reckoning, and reported so: the ticket must not go out.
  if (context().keeper->count(name(), owner_) == 0) return not_there();
  finish({Verdict::kGranted, {}, left.count()});
}

void DetachOperation::not_there() {
  context().keeper->lose(name(), owner_, kUnknown);
  const lease::ReleasePlan plan = context().keeper->begin_release(name(), owner_, true);
  finish({Verdict::kGone, Status::invalid(plan.reason)});
}

AttachOperation::AttachOperation(std::shared_ptr<const Context> context, const Recipe& recipe,
                                 LockName name, Ticket ticket, const Heir& heir)
    : TransferOperation(std::move(context), recipe, std::move(name)),
      ticket_(std::move(ticket)),
      heir_(heir) {}

void AttachOperation::begin() {
  const Lock lock(mutex_);
  send({ticket_.field, field(heir_.owner), heir_.lease.time});
}

// Of the minimum that was left at the detaching, the time since then has passed: by the server's
// clock the lease is shorter by it. Not known (a repeat): none has.
void AttachOperation::moved(Millis left, const client::Sent& sent) {
  const Millis passed = left < Millis(0) ? Millis(0) : std::max(ticket_.lease - left, Millis(0));
  lease::Grant grant{name(), heir_.owner, 1, heir_.lease, sent.last, &recipe()};
  grant.listener = heir_.listener;
  grant.token = ticket_.token;
  grant.at_least = std::max(ticket_.minimum - passed, Millis(0));
  grant.at = now();
  context().stats->granted(false, Duration::zero());
  context().keeper->granted(grant);
  finish({Verdict::kGranted, {}, left.count()});
}

void AttachOperation::not_there() {
  finish({Verdict::kGone,
          Status::invalid("its ticket has been used before or has expired, or the lock was "
                          "released by force")});
}

void AttachOperation::unanswered() {
  return_to(context(), recipe(), name(), ticket_, transfer().to);
}

void AttachOperation::taken_back() { give_back(context(), recipe(), name(), ticket_, heir_.owner); }

void AttachOperation::give_back(const Context& context, const Recipe& recipe, const LockName& name,
                                const Ticket& ticket, OwnerNumber owner) {
  const lease::ReleasePlan plan = context.keeper->begin_release(name, owner, true);
  if (plan.verdict != lease::ReleasePlan::Verdict::kFinal) return;
  context.keeper->released(name, owner, plan);
  return_to(context, recipe, name, ticket, owner_field(context.client_id, owner));
}

}  // namespace holdfast::sync
