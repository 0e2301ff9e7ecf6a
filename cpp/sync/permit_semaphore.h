#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sync/recipe.h"

namespace holdfast::sync {

// The recipes of the semaphore whose permits have ids and expire: a counter, and a sorted set of
// what is out (Redisson's RPermitExpirableSemaphore). A permit that is renewed is a hold of this
// client, with a separate owner number; any other is known to the server alone, by its id.
const HoldRecipe& renewed_permit_recipe();
const TakingRecipe& leased_permit_recipe();

// The id, 16 bytes, of the permit that this client takes under `number`, made so that no other
// client or process makes it; and the number of an id that this client has made.
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
