#include "base/wake_up.h"

#ifdef __linux__
#include <sys/eventfd.h>
#else
#include <fcntl.h>
#include <sys/event.h>
#endif

namespace holdfast {

#ifdef __linux__

int make_wake_up() { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void wake(int fd) { ::eventfd_write(fd, 1); }

bool clear_wake_up(int fd) {
  eventfd_t ignored = 0;
  return ::eventfd_read(fd, &ignored) == 0;
}

#else  // built for macOS, but never run there

namespace {

void submit(int queue, unsigned flags, unsigned notes) {
  struct kevent change {};
  change.filter = EVFILT_USER;
  change.flags = static_cast<decltype(change.flags)>(flags);
  change.fflags = notes;
  ::kevent(queue, &change, 1, nullptr, 0, nullptr);
}

}  // namespace

// A queue with a pending event is readable; to receive the event clears it.
int make_wake_up() {
  const int fd = ::kqueue();
  if (fd < 0) return fd;
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  submit(fd, EV_ADD | EV_CLEAR, 0);
  return fd;
}

void wake(int fd) { submit(fd, 0, NOTE_TRIGGER); }

bool clear_wake_up(int fd) {
  struct kevent ignored {};
  const timespec now{0, 0};
  return ::kevent(fd, nullptr, 0, &ignored, 1, &now) > 0;
}

#endif

}  // namespace holdfast
