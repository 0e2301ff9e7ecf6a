#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sync/recipes/counter.h"
#include "sync/recipes/recipe.h"

namespace holdfast::sync {

// The recipes of the semaphore with permits that have ids and expire: a counter, and a sorted set
// of the permits in use (Redisson's RPermitExpirableSemaphore). A renewed permit is a hold of this
// client, with a separate owner number; only the server knows the others, by their ids. Of several
// that are acquired at once (AcquireOptions::amount), the owner is the first; the numbers that
// follow its number are those of the others.
const HoldRecipe& renewed_permit_recipe();
const TakingRecipe& leased_permit_recipe();

// The id, 16 bytes, of the permit that this client takes under `number`, unique among all clients
// and processes; and the number of an id that this client has made.
std::string permit_id(const std::string& client_id, OwnerNumber number);
std::optional<OwnerNumber> permit_number(const std::string& client_id, std::string_view permit);

// The steps on permits by their ids, and those on the whole semaphore; the replies are those of the
// scripts. Several ids are one text.
void release_permit(script::Writer& out, const LockName& name, std::string_view permits);
// All or none: a request, as the step of a counter.
void release_together(script::Writer& out, const Step& step, std::string_view permits);
void extend_permit(script::Writer& out, const LockName& name, std::string_view permit,
                   Millis lease);
void try_set_permits(script::Writer& out, const LockName& name, std::int64_t permits);
const CounterStep& add_permits_step();
const CounterStep& set_permits_step();
void available_permits(script::Writer& out, const LockName& name);
void permits(script::Writer& out, const LockName& name);
void acquired_permits(script::Writer& out, const LockName& name);
void permit_lease_left(script::Writer& out, const LockName& name, std::string_view permit);
void delete_permits(script::Writer& out, const LockName& name);

}  // namespace holdfast::sync
