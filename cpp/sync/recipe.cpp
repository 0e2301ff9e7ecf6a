#include "sync/recipe.h"

namespace holdfast::sync {

void Recipe::transfer(std::string& /*out*/, const Step& /*step*/,
                      const std::string& /*heir*/) const {}

Answer Recipe::transferred(const resp::Reply& reply) const {
  if (reply.is_nil()) return {Answer::Kind::kHeld, Millis(0)};
  return {Answer::Kind::kGranted, Millis(0)};
}

}  // namespace holdfast::sync
