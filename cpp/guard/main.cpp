// The guard: waits for the end of a program, and releases what it held. Started by the program with
// three descriptors and no arguments: a socket for settings (and for the answer to them, +OK or an
// error), the page of holds, and a pidfd of the program.

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <string>
#include <utility>

#include "guard/held_page.h"
#include "guard/releases.h"
#include "guard/settings.h"
#include "resp/reply.h"

namespace {

using holdfast::Result;
using holdfast::Status;
using holdfast::guard::HeldPageView;
using holdfast::guard::Settings;

constexpr int kSocket = 3;
constexpr int kPage = 4;
constexpr int kProgram = 5;
// Between two looks at the leases, once there is no socket any more.
constexpr int kLookMs = 250;

// The program gets no child that it did not start, nor does the guard get the signals to its group.
void leave_the_program() {
  if (fork() > 0) _exit(0);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP}) {
    std::signal(number, SIG_IGN);
  }
  setsid();
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_NAME, "holdfast-guard");
  const int nothing = open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, standard);
  if (syscall(SYS_close_range, kProgram + 1, ~0U, 0U) == 0) return;
  const auto most = static_cast<int>(std::min(sysconf(_SC_OPEN_MAX), 65536L));
  for (int fd = kProgram + 1; fd < most; ++fd) close(fd);
}

void answer(const Status& status) {
  const std::string text = status.ok() ? "+OK\r\n" : "-ERR " + status.message() + "\r\n";
  (void)send(kSocket, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// What has come by the socket.
class Messages {
 public:
  const std::optional<Settings>& settings() const { return settings_; }

  // False: there will be no more: the program has ended, or has called exec().
  bool read_some() {
    std::array<char, 4096> bytes{};
    const ssize_t size = recv(kSocket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size <= 0) return false;
    reader_.feed(bytes.data(), static_cast<std::size_t>(size));
    for (;;) {
      auto next = reader_.next();
      if (!next.ok()) return false;
      if (!next.value()) return true;
      Result<Settings> read = holdfast::guard::read_settings(*next.value());
      answer(read.status());
      if (read.ok()) settings_ = std::move(read.value());
    }
  }

  void read_rest() {
    while (read_some()) {
    }
  }

 private:
  holdfast::resp::Reader reader_;
  std::optional<Settings> settings_;
};

// True: the program has ended, with all of its threads. False: it has closed its client, or called
// exec(), and the leases are over.
bool await_end(Messages& messages, const HeldPageView& page) {
  std::array<pollfd, 2> waited{{{kProgram, POLLIN, 0}, {kSocket, POLLIN, 0}}};
  while (waited[0].revents == 0) {
    const bool left = waited[1].fd < 0;
    if (poll(waited.data(), waited.size(), left ? kLookMs : -1) < 0) continue;
    if (waited[1].revents != 0 && !messages.read_some()) waited[1].fd = -1;
    const bool ended = waited[0].revents != 0;
    if (left && !ended && page.held(holdfast::SystemClock().now()).empty()) return false;
  }
  messages.read_rest();
  return true;
}

}  // namespace

int main() {
  leave_the_program();
  const Result<HeldPageView> page = HeldPageView::open(kPage);
  if (!page.ok()) {
    answer(page.status());
    return 2;
  }
  Messages messages;
  const bool ended = await_end(messages, page.value());
  if (ended && messages.settings()) release_all(page.value(), *messages.settings());
  return 0;
}
