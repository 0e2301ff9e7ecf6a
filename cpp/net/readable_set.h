#pragma once

namespace holdfast::net {

// Descriptors that are polled as one, which an event loop of the application polls: by epoll on
// Linux, by kqueue elsewhere. The result is readable while one of them is. The caller closes it,
// and a child of fork() does not use it. Throws LimitReached where the system gives none.
int make_readable_set();
// False: the system refuses it, with errno.
bool add_readable(int set, int fd);
void remove_readable(int set, int fd);

}  // namespace holdfast::net
