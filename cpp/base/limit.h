#pragma once

#include <stdexcept>
#include <string>

namespace holdfast {

// What to do about an error of a system call that a limit of the process or the machine explains,
// such as "raise `ulimit -n`"; empty for other errors. `error`: its errno. EAGAIN is taken for a
// refused thread or process.
std::string limit_hint(int error);

// "socket: Too many open files (the process may open no more files: raise `ulimit -n`)".
std::string limit_text(const std::string& call, int error);

// The system gives this process no more descriptors, threads, processes or memory.
class LimitReached : public std::runtime_error {
 public:
  // `call`: the system call. what(): limit_text().
  LimitReached(const std::string& call, int error)
      : std::runtime_error(limit_text(call, error)), error_(error) {}

  int error() const { return error_; }  // its errno

 private:
  int error_;
};

}  // namespace holdfast
