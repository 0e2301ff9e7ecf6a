#include "guard/process.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <stdexcept>

#include "base/process.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

namespace holdfast::guard {

namespace {

// Between two looks at a child that has no descriptor.
constexpr Millis kLook{1};

void refuse_with_interpreter() {
  if (interpreter_held()) throw std::logic_error("a wait for a process would stop all threads");
}

int left_until(TimePoint until) {
  const Duration left = std::max(until - SystemClock().now(), Duration::zero());
  return static_cast<int>(std::chrono::ceil<Millis>(left).count());
}

}  // namespace

bool readable(int fd, Millis longest) {
  refuse_with_interpreter();
  const TimePoint until = after(SystemClock().now(), longest);
  pollfd waited{fd, POLLIN, 0};
  const int ready = repeated([&] { return poll(&waited, 1, left_until(until)); });
  if (ready == 0) errno = ETIMEDOUT;
  return ready > 0;
}

net::Descriptor open_process(int pid) {
  return net::Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0U)));
}

Process::Process(int pid) : pid_(pid), descriptor_(open_process(pid)) {}

// Nullopt: it runs. What cannot be collected is no child, or has been collected.
std::optional<int> Process::collect() const {
  siginfo_t info{};
  const auto wait = [&](idtype_t by, int which) {
    return repeated([&] { return waitid(by, static_cast<id_t>(which), &info, WEXITED | WNOHANG); });
  };
  int result = -1;
  if (known()) result = wait(static_cast<idtype_t>(P_PIDFD), descriptor_.get());
  // A kernel from before 5.4 does not know P_PIDFD.
  if (!known() || (result < 0 && errno == EINVAL)) result = wait(P_PID, pid_);
  if (result < 0) return 0;
  if (info.si_pid == 0) return std::nullopt;
  return info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
}

std::optional<int> Process::await_end(Millis longest) const {
  refuse_with_interpreter();
  const TimePoint until = after(SystemClock().now(), longest);
  if (known()) {
    if (!readable(descriptor_.get(), longest)) return std::nullopt;
    return collect().value_or(0);
  }
  std::optional<int> ended = collect();
  while (!ended && SystemClock().now() < until) {
    (void)poll(nullptr, 0, static_cast<int>(kLook.count()));
    ended = collect();
  }
  return ended;
}

bool Process::is_child() const {
  siginfo_t info{};
  constexpr int kOptions = WEXITED | WNOHANG | WNOWAIT;
  const auto by = known() ? static_cast<idtype_t>(P_PIDFD) : P_PID;
  const int which = known() ? descriptor_.get() : pid_;
  return waitid(by, static_cast<id_t>(which), &info, kOptions) == 0;
}

void Process::kill() const {
  if (known()) {
    (void)syscall(SYS_pidfd_send_signal, descriptor_.get(), SIGKILL, nullptr, 0U);
  } else {
    (void)::kill(pid_, SIGKILL);
  }
}

}  // namespace holdfast::guard
