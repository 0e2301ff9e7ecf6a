#include "sync/undo.h"

#include <utility>

#include "sync/operation.h"

namespace holdfast::sync {

namespace {
constexpr Millis kRefusedRest{250};
}  // namespace

void add_plan(Step& step, const lease::ReleasePlan& plan, const Context& context) {
  if (step.count > 0) return;
  step.other = plan.other;
  step.stays = plan.stays(context.clock.now());
  step.keeper = owner_field(context.client_id, OwnerNumber{0});
}

Undo::Undo(std::shared_ptr<const Context> context, const Recipe& recipe, What what)
    : context_(std::move(context)), recipe_(recipe), what_(std::move(what)) {
  persistent = true;
}

void Undo::submit(std::shared_ptr<const Context> context, const Recipe& recipe, What what,
                  Millis lease) {
  const auto undo = std::make_shared<Undo>(std::move(context), recipe, std::move(what));
  undo->deadline = after(undo->context_->clock.now(), lease);
  undo->begin(recipe.makes_holds());
}

void Undo::submit_late_release(std::shared_ptr<const Context> context, const Recipe& recipe,
                               What what, lease::ReleasePlan plan) {
  const auto undo = std::make_shared<Undo>(std::move(context), recipe, std::move(what));
  undo->deadline = plan.trusted;
  undo->plan_ = std::move(plan);
  undo->begin(false);
}

void Undo::begin(bool covers) {
  context_->keeper->owe(what_.name, what_.owner, shared_from_this(), covers);
  go();
}

void Undo::settle() { context_->keeper->settled(what_.owner, *this); }

// In its first place it stays: there it is in front of whatever the owner asks for now.
bool Undo::cancel() {
  cancelled_ = true;
  if (again_) abandon();
  return !again_;
}

void Undo::on_time() {
  const bool superseded = plan_ && context_->keeper->superseded(what_.name, what_.owner, *plan_);
  if (cancelled_ || superseded) return settle();
  go();
}

void Undo::go() {
  const auto connection = context_->topology->route(key(), topology::Traffic::kCalls);
  // A closed client leaves its holds to their leases.
  if (!connection->submit(shared_from_this()).ok()) settle();
}

void Undo::encode(std::string& out) const {
  Step step{what_.name,
            owner_field(context_->client_id, what_.owner),
            what_.remaining,
            Millis(0),
            context_->topology->publish_command(),
            true,
            what_.acquire_options};
  if (plan_) add_plan(step, *plan_, *context_);
  encode_release(recipe_, out, step);
}

void Undo::complete(Result<resp::Reply> reply, const client::Sent& /*sent*/) {
  const bool refused = reply.ok() && reply.value().is_error();
  const TimePoint again = after(context_->clock.now(), kRefusedRest);
  if (refused && error_kind(reply.value().text()) == ErrorKind::kPasses && again < deadline) {
    again_ = true;
    return context_->timers->arm(shared_from_this(), again);
  }
  settle();
  if (!plan_) return;
  const bool confirmed = reply.ok() && !refused;
  context_->keeper->released_late(what_.name, what_.owner, *plan_, confirmed);
}

}  // namespace holdfast::sync
