#include "redis/base/process.h"

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <system_error>

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

std::string limit_hint(int error) {
  switch (error) {
    case EMFILE:
      return "the process may open no more files: raise `ulimit -n`";
    case ENFILE:
      return "the machine may open no more files: raise the sysctl fs.file-max";
    case EAGAIN:
      return "no more threads or processes are allowed: raise `ulimit -u`, or pids.max of the "
             "container";
    case ENOSPC:
      return "no more files may be watched: raise the sysctl fs.epoll.max_user_watches";
    case ENOMEM:
    case ENOBUFS:
      return "the system has no memory left";
    default:
      return {};
  }
}

std::string limit_text(const std::string& call, int error) {
  const std::string hint = limit_hint(error);
  const std::string text = call + ": " + std::generic_category().message(error);
  return hint.empty() ? text : text + " (" + hint + ")";
}

}  // namespace holdfast
