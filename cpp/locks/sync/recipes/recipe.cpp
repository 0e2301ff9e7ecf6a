#include "locks/sync/recipes/recipe.h"

namespace holdfast::sync {

std::vector<const script::Script*> Recipe::scripts() const {
  std::vector<const script::Script*> all;
  for (const Row* const row :
       {&steps.acquire, &steps.release, &steps.transfer, &steps.renew, &steps.check, &steps.extend,
        &steps.force_release, &steps.locked, &steps.hold_count, &steps.ttl}) {
    if (row->script() != nullptr) all.push_back(row->script());
  }
  return all;
}

std::string Recipe::channel(const LockName& name, const std::string& /*owner*/) const {
  return traits.channel.of(name);
}

Answer Recipe::transferred(const resp::Reply& reply) const {
  if (reply.is_nil()) return {Answer::Kind::kHeld, Millis(0)};
  return {Answer::Kind::kGranted, Millis(0)};
}

void TakingRecipe::release(script::Writer& out, const Step& step) const {
  if (step.stays > Millis(0) && steps.retain) return steps.retain.write(out, step);
  const bool either = !step.other.empty() && steps.release_either;
  (either ? steps.release_either : steps.release).write(out, step);
}

void TakingRecipe::write_again(script::Writer& out, const LockName& name, const std::string& owner,
                               Millis lease) const {
  steps.write_again.write(out, {name, owner, 0, lease});
}

Answer LockRecipe::acquired(const resp::Reply& reply) const {
  if (reply.is_nil()) return {Answer::Kind::kGranted, Millis(0)};
  if (reply.integer() == kHoldsGone) return {Answer::Kind::kGone, Millis(0)};
  return held(Millis(reply.integer()));
}

}  // namespace holdfast::sync
