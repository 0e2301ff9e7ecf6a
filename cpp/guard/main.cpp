// The guard: waits for the end of a program, and releases what it held. Started by the program with
// two descriptors and no arguments: a socket, and a pidfd of the program. A message is the number
// of a client: with its page, it joins, and is answered by the number of this process, or an error;
// without one, its page has changed.

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "guard/guarded_clients.h"

namespace {

using holdfast::guard::GuardedClients;
using Read = GuardedClients::Read;

constexpr int kSocket = 3;
constexpr int kProgram = 4;
// Between two looks at the leases, once there is no socket any more.
constexpr int kLookMs = 250;

// The program gets no child that it did not start, nor does the guard get the signals to its group.
void leave_the_program() {
  const pid_t guard = fork();
  if (guard != 0) _exit(guard > 0 ? 0 : errno);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP}) {
    std::signal(number, SIG_IGN);
  }
  std::signal(SIGCHLD, SIG_IGN);
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

// True: the program has ended, with all of its threads. False: it has closed its clients, or called
// exec(), and the leases are over.
bool await_end(GuardedClients& clients) {
  std::array<pollfd, 2> waited{{{kProgram, POLLIN, 0}, {kSocket, POLLIN, 0}}};
  while (waited[0].revents == 0) {
    const bool left = waited[1].fd < 0;
    if (poll(waited.data(), waited.size(), left ? kLookMs : -1) < 0) continue;
    if (waited[1].revents != 0 && clients.read() == Read::kEnd) waited[1].fd = -1;
    if (waited[0].revents == 0 && clients.done()) return false;
  }
  while (clients.read() == Read::kOne) {
  }
  return true;
}

}  // namespace

int main() {
  leave_the_program();
  GuardedClients clients(kSocket);
  if (await_end(clients)) clients.release_all();
  return 0;
}
