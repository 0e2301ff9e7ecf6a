#include "guard/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace holdfast::guard {

namespace {

// Where the guard finds its descriptors; those to be inherited are first moved above them.
constexpr int kFirst = 3;
constexpr int kAbove = 10;
constexpr int kAnswerMs = 5000;

Status failed(const char* what, int error) {
  return Status::invalid(std::string("the guard cannot be started: ") + what + ": " +
                         std::strerror(error));
}

net::Descriptor moved(int fd) { return net::Descriptor(fcntl(fd, F_DUPFD_CLOEXEC, kAbove)); }

// The process ends at once: the guard is its child.
Status spawn(const std::string& path, const std::array<int, 3>& inherited) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  int target = kFirst;
  for (const int fd : inherited) posix_spawn_file_actions_adddup2(&actions, fd, target++);
  std::string program = path;
  std::array<char*, 2> arguments{program.data(), nullptr};
  char* environment = nullptr;
  pid_t child = -1;
  const int error =
      posix_spawn(&child, path.c_str(), &actions, nullptr, arguments.data(), &environment);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failed(path.c_str(), error);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {};
}

}  // namespace

Result<Guard> Guard::start(const std::string& path, int page, const std::string& settings) {
  const net::Descriptor program(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0U)));
  if (!program.open()) return failed("pidfd_open", errno);
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return failed("socketpair", errno);
  }
  Guard guard{net::Descriptor(pair[0])};
  {
    const net::Descriptor theirs(pair[1]);
    const std::array<net::Descriptor, 3> above{moved(pair[1]), moved(page), moved(program.get())};
    Status started = spawn(path, {above[0].get(), above[1].get(), above[2].get()});
    if (!started.ok()) return started;
  }
  if (Status sent = guard.send(settings); !sent.ok()) return sent;
  if (Status answer = guard.await_answer(); !answer.ok()) return answer;
  return guard;
}

Status Guard::send(const std::string& settings) const {
  const ssize_t sent = ::send(socket_.get(), settings.data(), settings.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(settings.size())) return failed("it has ended", errno);
  return {};
}

Status Guard::await_answer() const {
  std::array<char, 256> bytes{};
  pollfd waited{socket_.get(), POLLIN, 0};
  if (poll(&waited, 1, kAnswerMs) <= 0) return failed("no answer", ETIMEDOUT);
  const ssize_t size = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (size <= 0) return failed("it has ended", size < 0 ? errno : ECONNRESET);
  const std::string_view answer(bytes.data(), static_cast<std::size_t>(size));
  if (answer.substr(0, 3) == "+OK") return {};
  return Status::invalid("the guard cannot be started: " + std::string(answer));
}

}  // namespace holdfast::guard
