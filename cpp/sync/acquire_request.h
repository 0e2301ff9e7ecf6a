#pragma once

#include <cstdint>
#include <optional>

#include "base/types.h"
#include "sync/acquire_machine.h"
#include "sync/context.h"
#include "sync/recipe.h"

namespace holdfast::sync {

// How long a server that refuses to work for the moment is asked again.
enum class RefusalBudget {
  kCallers,  // the time of a caller who waits, briefly for one who does not
  kNone,     // the attempt is one of a round, and the next round asks again
};

// What a caller asks for.
struct AcquireRequest {
  LockName name;
  OwnerNumber owner;
  Lease lease;
  bool blocking = true;
  TimePoint deadline = kNever;
  std::uint64_t listener = 0;  // who is to be told when the hold is lost
  AcquireOptions acquire_options{};
  bool again = false;  // no hold more: the lease of the one that is held counts from now on
  RefusalBudget refusal_budget = RefusalBudget::kCallers;
  bool part = false;  // of a lock made of locks: only its grant is counted
  // Until when a server that refuses connections is waited for; unset: patience_of() the caller.
  std::optional<TimePoint> patience{};
};

// What the request means for the machine, of this kind of lock and this client.
AcquireMachine::Options machine_options(const AcquireRequest& request, const Recipe& recipe,
                                        const Context& context);

// Which waiters for this name a message wakes.
wait::WaitRegistry::WakePolicy wake_policy(const Recipe& recipe, const LockName& name);

}  // namespace holdfast::sync
