#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace holdfast {

// One thread's place to sleep. notify() is remembered until the sleeper has seen it, so none is missed;
// several may count as one. The sleeper may wait in poll() instead: then notify() writes to `poll_fd`.
class Parker {
 public:
  // Any thread.
  void notify();

  // The owning thread: returns after a notify() (consumed) or at `until`.
  void park(const Clock& clock, TimePoint until);

  // The owning thread, around a poll() in which an eventfd is watched: until end_poll(), notify() writes
  // to it. Returns false, and is not begun, when a notify() is pending (consumed).
  bool begin_poll(int poll_fd);
  void end_poll();

  // For whoever hands out turns: the owner stands in its line. Guarded by that line's lock.
  bool in_line = false;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool notified_ = false;
  int poll_fd_ = -1;
};

}  // namespace holdfast
