#include "lua_scripts.h"
#include "sync/recipes/kinds.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;
using P = Part;

// An attempt compares the revision with the one that the caller knows, and leaves nothing behind.
constexpr Steps revision_steps() {
  Steps of;
  of.acquire = {lua::revision_changed, {P::kName, P::kState, P::kAmount}};
  return of;
}
constexpr Steps kRevisionSteps = revision_steps();

class Revision final : public Recipe {
 public:
  Revision() : Recipe(kRevisionSteps, {{}, keys::kChangedChannel, Waiting::kTogether}) {}

  // A refusal says when the state may change without a message: with the lease of its owner.
  Answer acquired(const resp::Reply& reply) const override {
    if (reply.is_nil()) return {};
    return {Answer::Kind::kHeld, Millis(reply.integer())};
  }
};

}  // namespace

const CounterKind& revision() {
  static const Revision recipe;
  static const CounterKind kind{"revision", recipe, {}};
  return kind;
}

}  // namespace holdfast::sync
