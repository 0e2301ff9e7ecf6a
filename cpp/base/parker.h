#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/clock.h"

namespace holdfast {

// One thread's place to sleep. notify() is remembered until the sleeper has seen it, so none is
// missed; several may count as one. The sleeper may also wait in its own poll(), with
// wake_fd() in it.
class Parker {
 public:
  Parker() = default;
  ~Parker();
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

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool notified_ = false;
  bool polling_ = false;
  int fd_ = -1;              // made by the first begin_poll()
  std::uint64_t epoch_ = 0;  // in which fd_ was made: a child of fork() needs a new one
};

}  // namespace holdfast
