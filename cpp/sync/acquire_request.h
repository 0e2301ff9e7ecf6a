#pragma once

#include <cstdint>
#include <optional>

#include "base/types.h"
#include "sync/acquire_machine.h"
#include "sync/context.h"
#include "sync/recipe.h"

namespace holdfast::sync {

// How long a server that refuses to work for the moment is tried again.
enum class RefusalBudget {
  kCallers,  // the caller's time; briefly for a caller that does not wait
  kNone,     // not at all: the next round of a quorum tries again
};

// A caller's request.
struct AcquireRequest {
  LockName name;
  OwnerNumber owner;
  Lease lease;
  bool blocking = true;
  TimePoint deadline = kNever;
  std::uint64_t listener = 0;  // the receiver of a loss of the hold
  AcquireOptions acquire_options{};
  bool again = false;  // not a further hold: sets the lease of the existing one again
  RefusalBudget refusal_budget = RefusalBudget::kCallers;
  bool part = false;  // of a lock made of locks: only its grant is counted
  // How long to wait for a server that refuses connections; unset: patience_of() the caller.
  std::optional<TimePoint> patience{};
};

// The machine's options for the request, this kind of lock and this client.
AcquireMachine::Options machine_options(const AcquireRequest& request, const Recipe& recipe,
                                        const Context& context);

// Which waiters for this name a message wakes.
wait::WaitRegistry::WakePolicy wake_policy(const Recipe& recipe, const LockName& name);

}  // namespace holdfast::sync
