#include "guard/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "guard/held_page.h"
#include "redis/base/process.h"

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

}  // namespace

bool readable(int fd, Millis longest) {
  refuse_with_interpreter();
  const TimePoint until = after(SystemClock().now(), longest);
  pollfd waited{fd, POLLIN, 0};
  const int ready = repeated([&] {
    const Duration left = std::max(until - SystemClock().now(), Duration::zero());
    return poll(&waited, 1, static_cast<int>(std::chrono::ceil<Millis>(left).count()));
  });
  if (ready == 0) errno = ETIMEDOUT;
  return ready > 0;
}

Descriptor open_process(int pid) {
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0U)));
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

namespace {

// Where the guard finds its descriptors; those to be inherited are first moved above them.
constexpr int kFirst = 3;
constexpr int kAbove = 10;
// For its answer; for the process that starts it; and for its end.
constexpr Millis kAnswer{5000};
constexpr Millis kStart{5000};
constexpr Millis kEnd{100};
constexpr const char* kEnded = "it has ended";

Status failed(const char* what, int error) {
  return Status::invalid("the guard cannot be started: " + limit_text(what, error));
}

Descriptor moved(int fd) { return Descriptor(fcntl(fd, F_DUPFD_CLOEXEC, kAbove)); }

// The process ends at once: the guard is its child. Its status is the errno of what it lacked.
Status spawn(const std::string& path, const std::array<int, 3>& inherited) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  int target = kFirst;
  int error = 0;
  for (const int fd : inherited) {
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, fd, target++);
  }
  std::string program = path;
  std::array<char*, 2> arguments{program.data(), nullptr};
  char* environment = nullptr;
  pid_t child = -1;
  if (error == 0) {
    error = posix_spawn(&child, path.c_str(), &actions, nullptr, arguments.data(), &environment);
  }
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failed(path.c_str(), error);
  const Process starter(child);
  std::optional<int> status = starter.await_end(kStart);
  if (!status) {
    starter.kill();
    (void)starter.await_end(kEnd);
    status = ETIMEDOUT;
  }
  return *status == 0 ? Status() : failed("fork", *status);
}

// The descriptor that the environment names; without it, or where it is not open, the program.
Descriptor keeper_or(int program) {
  const char* const named = std::getenv(kKeeperVariable);
  Descriptor keeper = named == nullptr ? Descriptor() : moved(std::atoi(named));
  return keeper.open() ? std::move(keeper) : moved(program);
}

}  // namespace

Status Guard::possible() {
  if (!open_process(getpid()).open()) return failed("pidfd_open", errno);
  const auto page = HeldPage::make(1);
  return page.ok() ? Status() : page.status();
}

Result<std::shared_ptr<Guard>> Guard::start(const std::string& path) {
  const Descriptor program = open_process(getpid());
  if (!program.open()) return failed("pidfd_open", errno);
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return failed("socketpair", errno);
  }
  std::shared_ptr<Guard> guard(new Guard(Descriptor(pair[0])));
  const Descriptor theirs(pair[1]);
  const std::array<Descriptor, 3> above{moved(theirs.get()), moved(program.get()),
                                        keeper_or(program.get())};
  std::array<int, 3> inherited{};
  for (std::size_t i = 0; i < above.size(); ++i) {
    if (!above[i].open()) return failed("fcntl", errno);
    inherited[i] = above[i].get();
  }
  Status started = spawn(path, inherited);
  if (!started.ok()) return started;
  return guard;
}

// After its last client has left it ends at once.
Guard::~Guard() {
  socket_.reset();
  if (!process_ || !process_->is_child()) return;
  without_interpreter([this] { (void)process_->await_end(kEnd); });
}

Status Guard::join(const std::string& client, int page) {
  const MutexLock lock(mutex_);
  iovec bytes{const_cast<char*>(client.data()), client.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
  msghdr packet{};
  packet.msg_iov = &bytes;
  packet.msg_iovlen = 1;
  packet.msg_control = space.data();
  packet.msg_controllen = space.size();
  cmsghdr* const head = CMSG_FIRSTHDR(&packet);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &page, sizeof(int));
  const int socket = socket_.get();
  const ssize_t sent = repeated([&] { return sendmsg(socket, &packet, MSG_NOSIGNAL); });
  if (sent < 0) return failed(kEnded, errno);
  return await_answer();
}

void Guard::leave(const std::string& client) const {
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  (void)::send(socket_.get(), client.data(), client.size(), kFlags);
}

bool Guard::ended() const {
  pollfd end{socket_.get(), POLLRDHUP, 0};
  return poll(&end, 1, 0) > 0;
}

Descriptor Guard::watched() const { return moved(socket_.get()); }

Status Guard::await_answer() {
  std::array<char, 256> bytes{};
  if (!readable(socket_.get(), kAnswer)) return failed("no answer", errno);
  const int socket = socket_.get();
  const ssize_t size = repeated([&] { return recv(socket, bytes.data(), bytes.size(), 0); });
  if (size <= 0) return failed(kEnded, size < 0 ? errno : ECONNRESET);
  std::string_view answer(bytes.data(), static_cast<std::size_t>(size));
  if (answer.front() == '+') {
    const int pid = std::atoi(answer.data() + 1);
    if (!process_) process_.emplace(pid);
    // The number may be trusted if the guard lives once it has been opened.
    if (!process_->known() || ended()) process_.reset();
    pid_ = pid;
    return {};
  }
  constexpr std::string_view kBefore = "-ERR ";
  if (answer.substr(0, kBefore.size()) == kBefore) answer.remove_prefix(kBefore.size());
  answer = answer.substr(0, answer.find_last_not_of("\r\n") + 1);
  return Status::invalid("the guard cannot be started: " + std::string(answer));
}

}  // namespace holdfast::guard
