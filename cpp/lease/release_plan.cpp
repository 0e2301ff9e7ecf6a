#include "lease/release_plan.h"

#include <chrono>
#include <utility>

#include "lease/hold_record.h"

namespace holdfast::lease {

Millis ReleasePlan::closed_for(TimePoint now) const {
  if (closed_until <= now) return Millis(0);
  return std::chrono::ceil<Millis>(closed_until - now);
}

ReleasePlan plan_release(Hold& hold, bool all) {
  using Verdict = ReleasePlan::Verdict;
  ReleasePlan plan;
  plan.serial = hold.serial;
  plan.trusted = hold.trusted();
  plan.closed_until = hold.closed_until();
  if (hold.move() != nullptr) plan.other = hold.move()->other;
  plan.reason = hold.reason();
  if (hold.held()) {
    plan.remaining = all ? 0 : hold.levels.count() - 1;
    plan.ended = hold.levels.count() - plan.remaining;
    plan.verdict = plan.remaining > 0 ? Verdict::kPartial : Verdict::kFinal;
  } else {
    // `lost` stays to be seen until the next grant; the error comes once.
    plan.verdict = std::exchange(hold.reported, true) ? Verdict::kNotOwned : Verdict::kLost;
  }
  return plan;
}

}  // namespace holdfast::lease
