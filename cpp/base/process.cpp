#include "base/process.h"

#include <pthread.h>

#include <atomic>

namespace holdfast {

namespace {

std::atomic<std::uint64_t> g_epoch{1};

// Registered before anything can read the epoch: at the library's load.
const int g_counts_forks =
    ::pthread_atfork(nullptr, nullptr, [] { g_epoch.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::uint64_t fork_epoch() {
  (void)g_counts_forks;
  return g_epoch.load(std::memory_order_acquire);
}

void call_in_child(void (*forget)()) { ::pthread_atfork(nullptr, nullptr, forget); }

namespace {

std::atomic<const Interpreter*> g_interpreter{nullptr};

}  // namespace

void set_interpreter(const Interpreter& interpreter) { g_interpreter.store(&interpreter); }

bool interpreter_held() {
  const Interpreter* const interpreter = g_interpreter.load();
  return interpreter != nullptr && interpreter->held();
}

void without_interpreter(const std::function<void()>& body) {
  if (interpreter_held()) return g_interpreter.load()->without(body);
  body();
}

}  // namespace holdfast
