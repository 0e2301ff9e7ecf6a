#include "sync/operation/acquire_account.h"

#include <algorithm>
#include <utility>

#include "sync/operation/hold_release.h"

namespace holdfast::sync {

AcquireAccount::AcquireAccount(std::shared_ptr<const Context> context, AcquireRequest request)
    : context_(std::move(context)),
      request_(std::move(request)),
      attempt_(context_->keeper->attempts(), request_.name(), request_.owner,
               request_.attempt_kind()) {}

lease::Attempt AcquireAccount::call() const {
  return {context_->keeper->attempts(), request_.name(), request_.owner,
          lease::Attempt::Kind::kAround};
}

void AcquireAccount::record() {
  const HoldRecipe* const holds = request_.recipe().holding();
  if (holds == nullptr || request_.at_least() > Millis(0)) return;
  context_->keeper->attempts().record(attempt_, *holds, longest_lease(), request_.amount);
}

Status AcquireAccount::refuse() const {
  const auto loss = context_->keeper->attempts().refuse(request_.name(), request_.owner);
  if (!loss) return {};
  return Status::lost(*loss);
}

void AcquireAccount::answered() {
  context_->keeper->attempts().answered(request_.name(), request_.owner);
}

bool AcquireAccount::keep(const Granted& grant) {
  lease::LeaseKeeper& keeper = *context_->keeper;
  const Recipe& recipe = request_.recipe();
  const HoldRecipe* const holds = recipe.holding();
  if (holds == nullptr) return !recipe.takes() || !keeper.closing();
  lease::Grant granted{request_.name(),
                       request_.owner,
                       grant.count,
                       request_.lease,
                       grant.sent,
                       holds,
                       request_.listener,
                       grant.token,
                       request_.at_least(),
                       grant.at,
                       request_.stats().counted};
  granted.amount = request_.amount;
  granted.block = request_.block;
  return keeper.attempts().granted(granted, attempt_);
}

void AcquireAccount::lose(const std::string& reason) {
  context_->keeper->lose(request_.name(), request_.owner, reason);
}

void AcquireAccount::take_back(int remaining) {
  lease::Attempts& attempts = context_->keeper->attempts();
  if (attempts.recorded()) attempts.leave_record(attempt_);
  // A client that closes may have released the owner's earlier holds while the attempt was under
  // way: they do not come back.
  remaining = std::min(remaining, context_->keeper->count(request_.name(), request_.owner));
  send_release(request_.owner, remaining, request_.amount);
}

void AcquireAccount::send_release(OwnerNumber owner, int remaining, std::int64_t amount) const {
  const TakingRecipe* const taking = request_.recipe().taking();
  if (taking == nullptr) return;
  StepOptions options = request_.step_options();
  options.amount = amount;
  auto write = [context = context_, taking, name = LockName(request_.name()), owner, remaining,
                options, slot = request_.slot](script::Writer& out) {
    taking->release(out, {name, {context->client_id, owner}, remaining, Millis(0), options});
  };
  std::make_shared<StepRelease>(context_, request_.name(), owner,
                                StepRelease::What{std::move(write)})
      ->take_back(longest_lease());
}

void AcquireAccount::give_back() const {
  if (!request_.recipe().makes_holds()) return send_release(request_.owner, 0, request_.amount);
  if (request_.block) context_->keeper->attempts().forget_block(request_.name(), request_.owner);
  for (std::int64_t i = 0; i < request_.amount; ++i) {
    const OwnerNumber owner = owner_after(request_.owner, i);
    const auto remaining = HoldRelease::give_back(context_, request_.synchronizer, owner);
    if (remaining) send_release(owner, *remaining, 1);
  }
}

void AcquireAccount::take_slot() {
  request_.slot = context_->slots->take();
  request_.owner = request_.slot->slot;
}

Millis AcquireAccount::longest_lease() const {
  return std::max(request_.lease.time, request_.queue_timeout());
}

}  // namespace holdfast::sync
