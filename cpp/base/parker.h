#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/futex.h"

namespace holdfast {

// One thread's place to sleep. notify() is remembered until the sleeper has seen it, so none is
// missed; several may count as one. The sleeper may also wait in its own poll(), with
// wake_fd() in it.
//
// The Parker of a thread is never destroyed: when the thread ends, another one gets it. So
// notify() may come late, without a lock that keeps the sleeper from leaving; a sleeper has to look
// again at what it waits for, as the notification may have been meant for an earlier wait.
class Parker {
 public:
  Parker() = default;
  Parker(const Parker&) = delete;
  Parker& operator=(const Parker&) = delete;

  // The calling thread's own, from its first use to its end.
  static Parker& of_this_thread();

  // Any thread.
  void notify();

  // The owning thread: returns after a notify() (consumed) or at `until`.
  void park(const Clock& clock, TimePoint until);

  // The owning thread, around a poll() in which wake_fd() is watched: until end_poll(), notify()
  // makes it readable. Returns false, and is not begun, when a notify() is pending (consumed).
  bool begin_poll();
  void end_poll();
  int wake_fd() const { return fd_; }

  // Whether descriptors that no poll() has are kept for the next one, as they are at first. If not,
  // they are closed. Any thread.
  static void keep_descriptors(bool on);

 private:
  enum State : std::uint32_t { kAwake, kNotified, kAsleep, kPolling };

  void give_back();
  bool change(std::uint32_t from, std::uint32_t to) {
    return state_.compare_exchange_strong(from, to);
  }

  FutexWord state_{kAwake};
  int fd_ = -1;  // between begin_poll() and end_poll()
};

}  // namespace holdfast
