#include "locks/sync/operation/acquire_request.h"

#include <algorithm>
#include <functional>
#include <string>

#include "locks/sync/recipes/keys.h"

namespace holdfast::sync {

AcquireMachine::Options machine_options(const AcquireRequest& request, const Context& context,
                                        TimePoint begun) {
  AcquireMachine::Options options;
  const Recipe& recipe = request.recipe();
  const Waiting waiting = recipe.traits.waiting;
  options.blocking = request.waits();
  const CallersTime time = request.time(begun);
  options.deadline = time.deadline();
  options.latest = time.latest();
  const bool is_refused = request.refusal_budget == RefusalBudget::kNone;
  options.refusal_budget = is_refused ? Millis(0) : time.refusal_budget(context.command_timeout);
  options.in_line = waiting == Waiting::kInLine && request.queue_timeout() > Millis(0);
  // Two acquisitions have different pauses.
  options.seed = std::hash<std::string>()(context.client_id) ^
                 static_cast<std::uint64_t>(begun.time_since_epoch().count());
  if (waiting == Waiting::kBackOff) {
    options.backoff.emplace(request.synchronizer->options.backoff, options.seed);
  }
  // With `again`, the grant has been confirmed before.
  options.confirms = context.acknowledger && recipe.taking != nullptr && !request.again;
  options.lease = recipe.holding != nullptr ? request.lease.time : Millis(0);
  options.has_permits = recipe.traits.has_permits;
  options.yields = options.blocking && waiting_for(recipe, request.name()) == Waiting::kInTurn;
  options.sets_up = request.setup != nullptr;
  options.undone_for_good = recipe.traits.undone_for_good;
  options.connect_deadline = request.connect_deadline.value_or(time.connect_deadline());
  return options;
}

Waiting waiting_for(const Recipe& recipe, const LockName& name) {
  const bool shared = recipe.traits.waiting == Waiting::kInTurn && shares_channels(name);
  return shared ? Waiting::kTogether : recipe.traits.waiting;
}

}  // namespace holdfast::sync
