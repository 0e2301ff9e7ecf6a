#include "sync/acquire_account.h"

#include <algorithm>
#include <utility>

namespace holdfast::sync {

AcquireAccount::AcquireAccount(const std::shared_ptr<const Context>& context, const Recipe& recipe,
                               AcquireRequest& request)
    : context_(context), recipe_(recipe), request_(request) {}

bool AcquireAccount::open() {
  using Kind = lease::Attempt::Kind;
  const Kind kind = excludes() ? Kind::kWhole : Kind::kPart;
  return attempt_.emplace(*context_->keeper, request_.name, request_.owner, kind).begin();
}

lease::Attempt AcquireAccount::call() const {
  return {*context_->keeper, request_.name, request_.owner, lease::Attempt::Kind::kAround};
}

lease::AttemptPlan AcquireAccount::begin() {
  return context_->keeper->begin_attempt(request_.name, request_.owner);
}

void AcquireAccount::answered() {
  context_->keeper->attempt_answered(request_.name, request_.owner);
}

bool AcquireAccount::keep(const AcquireMachine::Action& grant, bool counted) {
  lease::LeaseKeeper& keeper = *context_->keeper;
  const HoldRecipe* const holds = recipe_.holding();
  if (holds == nullptr) return !recipe_.takes() || !keeper.closing();
  return keeper.granted({request_.name, request_.owner, grant.count, request_.lease, grant.sent,
                         holds, request_.listener, grant.value, request_.acquire_options.at_least,
                         context_->clock.now(), counted},
                        *attempt_);
}

void AcquireAccount::lose() {
  context_->keeper->lose(request_.name, request_.owner,
                         "a reentrant acquire did not find it on the server");
}

void AcquireAccount::close() { attempt_.reset(); }

// A client that closes may have released the owner's earlier holds while the attempt was under way:
// they do not come back.
void AcquireAccount::take_back(int remaining) {
  const TakingRecipe* const taking = recipe_.taking();
  if (taking == nullptr) return;
  remaining = std::min(remaining, context_->keeper->count(request_.name, request_.owner));
  PendingRelease::take_back(context_,
                            PendingRelease::release_of(context_, *taking, release_to(remaining)),
                            longest_lease());
}

void AcquireAccount::give_back() {
  const HoldRecipe* const holds = recipe_.holding();
  if (holds == nullptr) return take_back(0);
  PendingRelease::give_back(context_, *holds, release_to(0), longest_lease());
}

void AcquireAccount::take_slot() {
  request_.acquire_options.request = context_->slots->take();
  request_.owner = request_.acquire_options.request->slot;
}

PendingRelease::Of AcquireAccount::release_to(int remaining) const {
  return {request_.name, request_.owner, remaining, request_.acquire_options};
}

Millis AcquireAccount::longest_lease() const {
  return std::max(request_.lease.time, request_.acquire_options.queue_timeout);
}

}  // namespace holdfast::sync
