#include "locks/sync/recipes/recipe.h"

namespace holdfast::sync {

std::vector<const script::Script*> Recipe::scripts() const {
  std::vector<const script::Script*> scripts;
  for (const Row* const row :
       {&steps_.acquire, &steps_.release, &steps_.transfer, &steps_.renew, &steps_.check,
        &steps_.extend, &steps_.force_release, &steps_.locked, &steps_.hold_count, &steps_.ttl}) {
    if (row->script() != nullptr) scripts.push_back(row->script());
  }
  return scripts;
}

Channel Recipe::channel(const LockName& name, const std::string& /*owner*/) const {
  return Channel(traits_.channel.of(name));
}

Answer Recipe::transferred(const resp::Reply& reply) const {
  if (reply.is_nil()) return {Answer::Kind::kHeld, Millis(0)};
  return {Answer::Kind::kGranted, Millis(0)};
}

void TakingRecipe::release(script::Writer& out, const Step& step) const {
  const Steps& of = steps();
  if (step.stays > Millis(0) && of.retain) return of.retain.write(out, step);
  const bool either = !step.other.empty() && of.release_either;
  (either ? of.release_either : of.release).write(out, step);
}

void TakingRecipe::write_again(script::Writer& out, const LockName& name, const std::string& owner,
                               Millis lease) const {
  steps().write_again.write(out, {name, owner, 0, lease});
}

Answer LockRecipe::acquired(const resp::Reply& reply) const {
  if (reply.is_nil()) return {Answer::Kind::kGranted, Millis(0)};
  if (reply.integer() == kHoldsGone) return {Answer::Kind::kGone, Millis(0)};
  return held(Millis(reply.integer()));
}

}  // namespace holdfast::sync
