#pragma once

#include <functional>
#include <string>
#include <thread>

namespace holdfast {

// A thread of the library: it blocks all signals from its first instruction on (they are for the
// application's threads) and is named for debuggers (the first 15 bytes of `name`). Throws
// std::system_error where the system gives no more threads.
std::thread start_thread(const std::string& name, std::function<void()> body);

}  // namespace holdfast
