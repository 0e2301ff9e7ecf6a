#include "redis/client/poll_for.h"

#include <poll.h>

#include <algorithm>
#include <array>

#include "redis/base/sync_points.h"

namespace holdfast::client {

namespace {
// How often a thread looks whether it was notified when there is no descriptor to wake it by.
constexpr Duration kLook = Millis(10);
}  // namespace

bool poll_for(const net::Interest& interest, Parker& parker, Duration longest) {
  if (!parker.begin_poll()) return false;
  std::array<pollfd, 2> fds{{{parker.wake_fd(), POLLIN, 0}, {interest.fd, 0, 0}}};
  if (interest.read) fds[1].events |= POLLIN;
  if (interest.write) fds[1].events |= POLLOUT;
  constexpr Duration kDay = std::chrono::hours(24);
  Duration left = std::clamp(longest, Duration::zero(), kDay);
  for (bool again = true; again;) {
    const Duration wait = parker.wake_fd() < 0 ? std::min(left, kLook) : left;
    const timespec time{wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
    const int ready = poll_descriptors(fds.data(), fds.size(), time);  // not the negative ones
    left -= wait;
    again = ready == 0 && left > Duration::zero() && !parker.notified();
  }
  parker.end_poll();
  return fds[1].revents != 0;
}

}  // namespace holdfast::client
