#pragma once

namespace holdfast {

// A descriptor that is readable from wake() until clear_wake_up(): an eventfd on Linux, a kqueue
// elsewhere, which a child of fork() does not inherit. The caller closes it.

// -1, with errno, where the system gives none.
int make_wake_up();
// Any thread.
void wake(int fd);
// False: it was not readable.
bool clear_wake_up(int fd);

}  // namespace holdfast
