#include "simulation/cuts.h"

#include <algorithm>

#include "simulation/redisson_steps.h"

namespace holdfast::simulation {

namespace {

// A renewal follows another within 250 ms at the soonest.
constexpr std::int64_t kShortest = 750;
// How much later than the server a client counts.
constexpr std::int64_t kOnTheWay = 100;

}  // namespace

void Cuts::follow(const Step& step, const Holders& before, const Holders& after) {
  const bool foreign = RedissonSteps::wrote(step.script);
  const bool renewal = step.script == "read_write_lock/read_renew";
  for (const auto& [field, hold] : after) {
    const auto was = before.find(field);
    const bool owned = std::count(step.owned.begin(), step.owned.end(), field) != 0;
    if (was == before.end()) {
      cuts_.erase(field);
      known_.erase(field);
    } else if (foreign && !owned) {
      if (hold != was->second) foreign_step(field, step, was->second.expires, hold.expires);
    } else if (owned && renewal) {
      renewed(field, step, was->second.expires - step.now);
    } else if (hold.expires > was->second.expires) {
      cuts_.erase(field);
    }
  }
}

void Cuts::foreign_step(const std::string& field, const Step& step, std::int64_t before,
                        std::int64_t after) {
  const bool cut = after < before || cuts_.count(field) != 0;
  if (cut) cuts_[field] = {after - step.now, after};
}

void Cuts::renewed(const std::string& field, const Step& step, std::int64_t left) {
  Known& known = known_[field];
  known.counts = step.now < known.until;
  if (cuts_.erase(field) == 0) return;
  known.left = known.counts ? std::min(known.left, left) : left;
  known.until = step.now + step.lease - kOnTheWay;
  known.counts = true;
}

bool Cuts::unforeseen(const std::string& field) const {
  const auto cut = cuts_.find(field);
  if (cut == cuts_.end()) return false;
  const auto known = known_.find(field);
  const bool counts = known != known_.end() && known->second.counts;
  return !counts || cut->second.lease < std::max(known->second.left, kShortest);
}

}  // namespace holdfast::simulation
