#include "net/sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>

namespace holdfast::net {
namespace {

void set_option(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof value);
}

#ifdef __linux__
constexpr int kIdle = TCP_KEEPIDLE;
#else
constexpr int kIdle = TCP_KEEPALIVE;
#endif

}  // namespace

#ifdef __linux__

int open_stream_socket(int family) {
  return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void set_user_timeout(int fd, Millis timeout) {
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
             static_cast<int>(std::clamp<Millis::rep>(timeout.count(), 1, 1 << 30)));
}

#else  // built for macOS, but never run there

int open_stream_socket(int family) {
  const int fd = socket(family, SOCK_STREAM, 0);
  if (fd < 0) return fd;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  set_option(fd, SOL_SOCKET, SO_NOSIGPIPE, 1);
  return fd;
}

void set_user_timeout(int fd, Millis timeout) {
  constexpr Millis::rep kLongest = 1 << 30;
  const Millis::rep millis = std::clamp<Millis::rep>(timeout.count(), 1, kLongest);
  const auto seconds = static_cast<int>((millis + 999) / 1000);
  set_option(fd, IPPROTO_TCP, TCP_CONNECTIONTIMEOUT, seconds);
  set_option(fd, IPPROTO_TCP, TCP_RXT_CONNDROPTIME, seconds);
}

#endif

void set_keep_alive(int fd, const KeepAlive& keep_alive) {
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, kIdle, keep_alive.idle_seconds);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, keep_alive.interval_seconds);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, keep_alive.probes);
}

}  // namespace holdfast::net
