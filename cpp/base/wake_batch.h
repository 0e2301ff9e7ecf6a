#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/parker.h"

namespace holdfast {

// Puts off what the calling thread notifies in this scope until its end: a thread that was
// notified under a mutex would wake only to sleep again on that mutex. Made before the mutexes of
// its scope are locked. In a scope within another one the outer one counts. Not to be held while
// the thread itself sleeps.
class WakeBatch {
 public:
  WakeBatch();
  ~WakeBatch();
  WakeBatch(const WakeBatch&) = delete;
  WakeBatch& operator=(const WakeBatch&) = delete;

  // At the end of the calling thread's batch; without one, now.
  static void notify(Parker& parker);

 private:
  void add(Parker& parker);

  WakeBatch* const outer_;
  std::size_t size_ = 0;
  std::array<Parker*, 32> few_;
  std::vector<Parker*> more_;
};

}  // namespace holdfast
