#pragma once

namespace holdfast::net {

// Descriptors that are polled as one, which an event loop of the application polls: by epoll on
// Linux, by kqueue elsewhere. The result is readable while one of them is. The caller closes it,
// and a child of fork() does not use it. Throws std::system_error where the system gives none.
int make_readable_set();
// False: the system refuses it, with errno.
bool add_readable(int set, int fd);
void remove_readable(int set, int fd);

// A descriptor that is readable from wake() until clear_wake_up(): an eventfd on Linux. The caller
// closes it. -1 where the system gives none. wake() may be called on any thread.
int make_wake_up();
void wake(int fd);
void clear_wake_up(int fd);

}  // namespace holdfast::net
