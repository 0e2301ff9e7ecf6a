#pragma once

#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"

namespace holdfast::net {

// The options of sockets that systems name differently.

#ifdef __linux__
// For poll(): the peer sends no more.
constexpr short kPollHangUp = POLLRDHUP;
// For send(): a connection that is lost is an error, not a signal.
constexpr int kNoSignal = MSG_NOSIGNAL;
// Whether MSG_DONTWAIT does for every call what O_NONBLOCK does.
constexpr bool kFlagsSuffice = true;
#else
constexpr short kPollHangUp = POLLHUP;
constexpr int kNoSignal = 0;  // set for the socket
constexpr bool kFlagsSuffice = false;
#endif

// A socket that does not block, raises no signal with kNoSignal, and is closed by exec. -1, with
// errno, where the system gives none.
int open_stream_socket(int family);

// How long bytes may stay without an acknowledgement before the connection is lost, and how long a
// connect() may take. macOS counts whole seconds; rounded up.
void set_user_timeout(int fd, Millis timeout);

struct KeepAlive {
  int idle_seconds;
  int interval_seconds;
  int probes;
};
void set_keep_alive(int fd, const KeepAlive& keep_alive);

}  // namespace holdfast::net
