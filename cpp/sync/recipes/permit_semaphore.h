#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sync/recipes/recipe.h"

namespace holdfast::sync {

// The recipes of the semaphore with permits that have ids and expire: a counter, and a sorted set
// of the permits in use (Redisson's RPermitExpirableSemaphore). A renewed permit is a hold of this
// client, with a separate owner number; only the server knows the others, by their ids.
const HoldRecipe& renewed_permit_recipe();
const TakingRecipe& leased_permit_recipe();

// The id, 16 bytes, of the permit that this client takes under `number`, unique among all clients
// and processes; and the number of an id that this client has made.
std::string permit_id(const std::string& client_id, OwnerNumber number);
std::optional<OwnerNumber> permit_number(const std::string& client_id, std::string_view permit);

// The steps on a permit by its id, and those on the whole semaphore; the replies are those of the
// scripts.
void release_permit(script::Writer& out, const LockName& name, std::string_view permit);
void extend_permit(script::Writer& out, const LockName& name, std::string_view permit,
                   Millis lease);
void try_set_permits(script::Writer& out, const LockName& name, std::int64_t permits);
void available_permits(script::Writer& out, const LockName& name);
void delete_permits(script::Writer& out, const LockName& name);

}  // namespace holdfast::sync
