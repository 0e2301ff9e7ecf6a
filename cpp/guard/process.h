#pragma once

#include <cerrno>
#include <optional>

#include "base/clock.h"
#include "net/descriptor.h"

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
  net::Descriptor descriptor_;
};

// A descriptor of the process with that number; none, with errno, where the system gives none.
net::Descriptor open_process(int pid);

}  // namespace holdfast::guard
