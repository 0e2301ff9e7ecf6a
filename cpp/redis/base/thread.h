#pragma once

#include <functional>
#include <string>
#include <thread>

#include "redis/base/descriptor.h"

namespace holdfast {

// A thread of the library: it blocks all signals from its first instruction on (they are for the
// application's threads) and is named for debuggers (the first 15 bytes of `name`). Throws
// LimitReached where the system gives no more threads.
std::thread start_thread(const std::string& name, std::function<void()> body);

// The system's id of the calling thread.
int this_thread_id();

// Whether the calling thread is the one that the process began with, or that called fork().
bool on_main_thread();

// Waits until the system no longer counts a thread that has returned, which is some 10 ms after the
// join at most.
void await_exit(int thread_id);

// A descriptor that is readable from wake() until clear_wake_up(): an eventfd on Linux, a kqueue
// elsewhere.

// None, with errno, where the system gives none.
Descriptor make_wake_up();
// Any thread.
void wake(int fd);
// False: it was not readable.
bool clear_wake_up(int fd);

}  // namespace holdfast
