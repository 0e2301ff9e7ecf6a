#pragma once

#include <array>
#include <string_view>

#include "locks/sync/recipes/counter.h"
#include "locks/sync/recipes/recipe.h"

namespace holdfast::sync {

// The recipes of the semaphore with permits that have ids and expire: a counter, and a sorted set
// of the permits in use (Redisson's RPermitExpirableSemaphore). A renewed permit is a hold of this
// client, with a separate owner number; only the server knows the others, by their ids. Of several
// that are acquired at once (StepOptions::amount), the owner is the first; the numbers that follow
// its number are those of the others.
struct PermitKind {
  std::string_view word;
  const HoldRecipe& renewed;
  const TakingRecipe& leased;
  Row release;  // releases permits by their ids; the reply is that of Steps::release
};
const PermitKind& permit_kind();
// The permits of the parties that wait at a barrier: their release also ends their wait, and their
// renewal keeps the keys of the barrier.
const PermitKind& party_kind();
// The permits of slots: an acquire, with the number of slots, their values and who takes it as its
// terms, also gives the permit a slot.
const PermitKind& slots_kind();
inline constexpr std::array kPermitKinds{&permit_kind, &party_kind, &slots_kind};

// The steps on permits by their ids (StepOptions::permits), and those on the whole semaphore; the
// replies are those of the scripts.
struct PermitSteps {
  Row extend{};
  Row lease_left{};
  Row try_set_permits{};  // StepOptions::amount
  Row available{};
  Row permits{};
  Row acquired{};
  Row remove{};
  CounterStep add_permits{};
  CounterStep set_permits{};
};
const PermitSteps& permit_steps();

// The step on these.
Step about_permits(const LockName& name, std::string_view permits, Millis lease = Millis(0));
// Releases all or none: a request, as the step of a counter.
void release_together(script::Writer& out, const Step& step);

}  // namespace holdfast::sync
