#include "net/readable_set.h"

#include <cerrno>

#ifdef __linux__
#include <sys/epoll.h>
#else
#include <fcntl.h>
#include <sys/event.h>
#endif

#include "base/limit.h"

namespace holdfast::net {

#ifdef __linux__

int make_readable_set() {
  const int fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw LimitReached("epoll_create1", errno);
  return fd;
}

bool add_readable(int set, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  return ::epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

void remove_readable(int set, int fd) { ::epoll_ctl(set, EPOLL_CTL_DEL, fd, nullptr); }

#else  // built for macOS, but never run there

namespace {

bool submit(int queue, int fd, unsigned flags) {
  struct kevent change {};
  change.ident = static_cast<decltype(change.ident)>(fd);
  change.filter = EVFILT_READ;
  change.flags = static_cast<decltype(change.flags)>(flags);
  return ::kevent(queue, &change, 1, nullptr, 0, nullptr) == 0;
}

}  // namespace

int make_readable_set() {
  const int fd = ::kqueue();
  if (fd < 0) throw LimitReached("kqueue", errno);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

bool add_readable(int set, int fd) { return submit(set, fd, EV_ADD); }

void remove_readable(int set, int fd) { submit(set, fd, EV_DELETE); }

#endif

}  // namespace holdfast::net
