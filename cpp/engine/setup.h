#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "sync/operation/acquire_request.h"

namespace holdfast::engine {

// The number of permits that a semaphore object sets up where the server has none, if any; waiters
// see a change at their next attempt. Thread-safe.
class Setup {
 public:
  // Below 0: none.
  explicit Setup(std::int64_t permits)
      : permits_(permits < 0 ? nullptr : std::make_shared<std::atomic<std::int64_t>>(permits)) {}

  sync::SetupPtr permits() const { return permits_; }
  // The number from now on, or its change; no effect where there is none.
  void expect(std::int64_t permits) const {
    if (permits_) *permits_ = permits;
  }
  void expect_more(std::int64_t permits) const {
    if (!permits_) return;
    *permits_ += permits;
    if (*permits_ < 0) *permits_ = 0;
  }

 private:
  const std::shared_ptr<std::atomic<std::int64_t>> permits_;
};

}  // namespace holdfast::engine
