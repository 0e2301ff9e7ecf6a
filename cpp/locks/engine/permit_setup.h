#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "locks/sync/operation/acquire_request.h"

namespace holdfast::engine {

// The number of permits that a semaphore object sets up where the server has none, if any; waiters
// see a change at their next attempt. Thread-safe.
class PermitSetup {
 public:
  // Below 0: none.
  explicit PermitSetup(std::int64_t permits)
      : permits_(permits < 0 ? nullptr : std::make_shared<std::atomic<std::int64_t>>(permits)) {}

  sync::SetupPtr permits() const { return permits_; }
  // The number from now on, or its change, never below 0; no effect where there is none. Each
  // returns by how much it has changed the number.
  std::int64_t expect(std::int64_t permits) const {
    return permits_ ? permits - permits_->exchange(permits) : 0;
  }
  std::int64_t expect_more(std::int64_t permits) const {
    if (!permits_) return 0;
    const auto sum = [permits](std::int64_t before) {
      return std::max<std::int64_t>(before + permits, 0);
    };
    std::int64_t before = *permits_;
    while (!permits_->compare_exchange_weak(before, sum(before))) {
    }
    return sum(before) - before;
  }

 private:
  const std::shared_ptr<std::atomic<std::int64_t>> permits_;
};

}  // namespace holdfast::engine
