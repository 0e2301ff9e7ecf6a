#include "net/readable_set.h"

#include <cerrno>
#include <system_error>

#ifdef __linux__
#include <sys/epoll.h>
#include <sys/eventfd.h>
#else
#include <fcntl.h>
#include <sys/event.h>
#endif

namespace holdfast::net {

#ifdef __linux__

int make_readable_set() {
  const int fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  return fd;
}

bool add_readable(int set, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  return ::epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

void remove_readable(int set, int fd) { ::epoll_ctl(set, EPOLL_CTL_DEL, fd, nullptr); }

int make_wake_up() { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void wake(int fd) { ::eventfd_write(fd, 1); }

void clear_wake_up(int fd) {
  eventfd_t ignored = 0;
  ::eventfd_read(fd, &ignored);
}

#else  // compiled with the headers of macOS, but never run there

namespace {

bool submit(int queue, int ident, int filter, int flags, unsigned notes = 0) {
  struct kevent change {};
  change.ident = static_cast<decltype(change.ident)>(ident);
  change.filter = static_cast<decltype(change.filter)>(filter);
  change.flags = static_cast<decltype(change.flags)>(flags);
  change.fflags = notes;
  return ::kevent(queue, &change, 1, nullptr, 0, nullptr) == 0;
}

int make_queue() {
  const int fd = ::kqueue();
  if (fd >= 0) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

}  // namespace

int make_readable_set() {
  const int fd = make_queue();
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "kqueue");
  return fd;
}

bool add_readable(int set, int fd) { return submit(set, fd, EVFILT_READ, EV_ADD); }

void remove_readable(int set, int fd) { submit(set, fd, EVFILT_READ, EV_DELETE); }

// A queue with a pending event is readable; to receive the event clears it.
int make_wake_up() {
  const int fd = make_queue();
  if (fd >= 0) submit(fd, 0, EVFILT_USER, EV_ADD | EV_CLEAR);
  return fd;
}

void wake(int fd) { submit(fd, 0, EVFILT_USER, 0, NOTE_TRIGGER); }

void clear_wake_up(int fd) {
  struct kevent ignored {};
  const timespec now{0, 0};
  ::kevent(fd, nullptr, 0, &ignored, 1, &now);
}

#endif

}  // namespace holdfast::net
