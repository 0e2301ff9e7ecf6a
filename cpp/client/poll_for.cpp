#include "client/poll_for.h"

#include <poll.h>

#include <algorithm>
#include <array>

#include "base/sync_points.h"

namespace holdfast::client {

bool poll_for(const net::Interest& interest, Parker& parker, Duration longest) {
  if (!parker.begin_poll()) return false;
  std::array<pollfd, 2> fds{{{parker.wake_fd(), POLLIN, 0}, {interest.fd, 0, 0}}};
  if (interest.read) fds[1].events |= POLLIN;
  if (interest.write) fds[1].events |= POLLOUT;
  constexpr Duration kDay = std::chrono::hours(24);
  const Duration wait = std::clamp(longest, Duration::zero(), kDay);
  const timespec time{wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
  poll_descriptors(fds.data(), fds.size(), time);  // which looks at no negative descriptor
  parker.end_poll();
  return fds[1].revents != 0;
}

}  // namespace holdfast::client
