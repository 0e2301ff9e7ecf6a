#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::lease {

// Whether commands about a hold may go out still, and whether the one that is in flight has gone
// out. What encodes a command has the connection's lock, what stops a hold the keeper's: so both
// are changed at once, without a lock.
class Sending {
 public:
  // Another command is to go out.
  void begin() { state_.fetch_and(kStopped); }
  // It goes out. False: the hold was stopped before, and it does not.
  bool write() {
    std::uint8_t state = state_.load();
    while ((state & kStopped) == 0) {
      if (state_.compare_exchange_weak(state, state | kWritten)) return true;
    }
    return false;
  }
  void stop() { state_.fetch_or(kStopped); }
  bool stopped() const { return (state_.load() & kStopped) != 0; }
  bool written() const { return (state_.load() & kWritten) != 0; }

 private:
  static constexpr std::uint8_t kStopped = 1;
  static constexpr std::uint8_t kWritten = 2;
  std::atomic<std::uint8_t> state_{0};
};

}  // namespace holdfast::lease
