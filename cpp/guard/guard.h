#pragma once

#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/base/process.h"
#include "redis/base/status.h"

namespace holdfast::guard {

// A call that a signal has ended is made again.
template <typename Call>
auto repeated(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Every wait for another process is one of the two below. It has an end, and throws
// std::logic_error in a thread that holds the interpreter: all others would stand still.

// Whether `fd` is readable within `longest`; else with errno. A signal does not end the wait.
bool readable(int fd, Millis longest);

// Another process, known by a descriptor: its number may be of another one once it has ended. On a
// kernel without such descriptors, and where none is left, a child is known by its number until it
// is collected here.
class Process {
 public:
  // `pid`: of a process that has not been collected yet.
  explicit Process(int pid);

  bool known() const { return descriptor_.open(); }

  // Waits until it has ended, and collects it if it is a child: its exit status, 0 if that went to
  // another. Nullopt: not within `longest`.
  std::optional<int> await_end(Millis longest) const;

  // Whether it is a child of this process that was not collected.
  bool is_child() const;

  void kill() const;

 private:
  std::optional<int> collect() const;

  int pid_;
  Descriptor descriptor_;
};

// A descriptor of the process with that number; none, with errno, where the system gives none.
Descriptor open_process(int pid);

// Names, in the program's environment, the descriptor of the end for reading of a pipe. What the
// program holds is kept, and renewed, after its death until no process has the other end open, and
// released then. To be set before the program's first client is made.
constexpr const char* kKeeperVariable = "HOLDFAST_GUARD_KEEPER";

// This program's guard: a process that waits for this one's death. It is no child of this one, and
// ends by itself: at the program's death with its releases, after the last client has left, or once
// this object is gone and all leases in the pages are over. A child of fork() has no part in it.
// Thread-safe.
class Guard {
 public:
  // OK: this system has what a guard needs. kInvalid: what it lacks.
  static Status possible();

  // Starts the executable at `path`. kInvalid: why it cannot run here. This and join() wait, and so
  // not in a thread that holds the interpreter: see redis/base/process.h.
  static Result<std::shared_ptr<Guard>> start(const std::string& path);

  // A system that has made this process the guard's parent (the first of a container, a subreaper)
  // leaves its end to be collected here, within 0.1 s.
  ~Guard();

  // A client with this page is to be guarded; waits for the guard's answer. kInvalid: the guard
  // cannot read the page, does not answer, or has ended.
  Status join(const std::string& client, int page) HOLDFAST_EXCLUDES(mutex_);
  // A client whose page says that it is closed has left. Does not wait.
  void leave(const std::string& client) const;
  bool ended() const;

  // The number of its process; 0: it has not answered.
  int pid() const { return pid_; }

  // A descriptor whose other end is closed when the guard has ended.
  Descriptor watched() const;

 private:
  explicit Guard(Descriptor socket) : socket_(std::move(socket)) {}
  Status await_answer() HOLDFAST_REQUIRES(mutex_);

  Descriptor socket_;
  std::atomic<int> pid_{0};         // once it has answered
  Mutex mutex_;                     // held by a caller that waits for an answer
  std::optional<Process> process_;  // once it has answered; none where it cannot be known
};

}  // namespace holdfast::guard
