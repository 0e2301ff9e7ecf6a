#include "client/stream_watch.h"

#include "base/sync_points.h"
#include "net/sockets.h"

namespace holdfast::client {

bool hung_up(const net::Transport& stream) {
  pollfd end{stream.fd(), net::kPollHangUp, 0};
  return poll_descriptors(&end, 1, timespec{}) > 0;
}

}  // namespace holdfast::client
