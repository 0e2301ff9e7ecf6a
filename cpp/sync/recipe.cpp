#include "sync/recipe.h"

namespace holdfast::sync {

void Recipe::transfer(script::Writer& /*out*/, const Step& /*step*/,
                      const std::string& /*heir*/) const {}

Answer Recipe::transferred(const resp::Reply& reply) const {
  if (reply.is_nil()) return {Answer::Kind::kHeld, Millis(0)};
  return {Answer::Kind::kGranted, Millis(0)};
}

void Recipe::retain(script::Writer& out, const Step& step) const { release(out, step); }

void Recipe::release_either(script::Writer& out, const Step& step) const { release(out, step); }

void Recipe::move(script::Writer& /*out*/, const Step& /*step*/,
                  const std::string& /*next*/) const {}

void encode_release(const Recipe& recipe, script::Writer& out, const Step& step) {
  if (step.stays > Millis(0)) {
    recipe.retain(out, step);
  } else if (!step.other.empty()) {
    recipe.release_either(out, step);
  } else {
    recipe.release(out, step);
  }
}

}  // namespace holdfast::sync
