#include "client/stream_watch.h"

#include <poll.h>

#include "base/sync_points.h"

namespace holdfast::client {

bool hung_up(const net::Transport& stream) {
  pollfd end{stream.fd(), POLLRDHUP, 0};
  return poll_descriptors(&end, 1, timespec{}) > 0;
}

}  // namespace holdfast::client
