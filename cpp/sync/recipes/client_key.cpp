#include "lua_scripts.h"
#include "sync/recipes/kinds.h"

namespace holdfast::sync {

namespace {

constexpr script::Script kDelete{
    "DEL", {}, {}, script::kNumberReplies, 1, 0, "*2\r\n$3\r\nDEL\r\n"};

// Its renewal also makes it. No client looks at it, or waits for it.
constexpr Steps client_key_steps() {
  Steps of;
  of.renew = {script::lua::client_renew, {Part::kName, Part::kNext}};
  of.release = {kDelete, {Part::kName}};
  return of;
}
constexpr Steps kClientKeySteps = client_key_steps();

}  // namespace

const LockRecipe& client_key_recipe() {
  static const LockRecipe recipe(kClientKeySteps, {"client_key", keys::kLockChannel});
  return recipe;
}

}  // namespace holdfast::sync
