// The guard: waits for the end of a program, and releases what it held. Started by the program with
// three descriptors and no arguments: a socket, a pidfd of the program, and a pipe whose other end
// keeps the holds after the program's death, or, where nothing keeps them, the pidfd again. A
// message is the number of a client: with its page, it joins, and is answered by the number of this
// process, or an error; without one, its page has changed.

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "guard/held_page.h"
#include "guard/releases.h"
#include "redis/base/clock.h"
#include "redis/base/process.h"
#include "redis/base/status.h"

namespace holdfast::guard {
namespace {

constexpr std::size_t kLongestMessage = 64;

struct Packet {
  ssize_t size = 0;  // as recv() returns it
  std::string bytes;
  Descriptor page;  // that came along
};

Packet receive(int socket) {
  Packet packet;
  packet.bytes.resize(kLongestMessage);
  iovec bytes{packet.bytes.data(), packet.bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  packet.size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  packet.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(packet.size, 0)));
  const cmsghdr* const head = packet.size > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (head != nullptr && head->cmsg_type == SCM_RIGHTS) {
    int page = -1;
    std::memcpy(&page, CMSG_DATA(head), sizeof(int));
    packet.page = Descriptor(page);
  }
  return packet;
}

// The clients of the guarded program, as their messages say. The guard's side; one thread.
class GuardedClients {
 public:
  explicit GuardedClients(Descriptor socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }

  // Reads one message, if there is one. kEnd: there will be no more: the program has ended, or has
  // called exec(), or the guard may not read.
  enum class Read { kOne, kNone, kEnd };
  Read read();

  // Whether nothing is left to wait for while the program lives: all of its clients have been
  // closed; or, after kEnd, all leases in the pages are over.
  bool done() const;

  // Releases what the program held that has ended, once nothing keeps it; of each client by a
  // process, so that a server that does not answer delays no other client's.
  void release_all(int keeper);

 private:
  Status join(const std::string& client, const Descriptor& page);

  const Descriptor socket_;
  bool joined_ = false;
  bool at_end_ = false;
  std::map<std::string, HeldPageView> pages_;  // by the client's number
};

GuardedClients::Read GuardedClients::read() {
  const Packet packet = receive(socket_.get());
  const bool passes = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ||
                      errno == ENOBUFS || errno == ENOMEM;
  if (packet.size < 0 && passes) return Read::kNone;
  // Any other error would be there at each look: the program is gone, or a rule that the guard has
  // inherited forbids the call.
  at_end_ = packet.size <= 0;
  if (at_end_) return Read::kEnd;
  if (packet.page.open()) {
    const Status joined = join(packet.bytes, packet.page);
    const std::string text =
        joined.ok() ? "+" + std::to_string(getpid()) + "\r\n" : "-ERR " + joined.message() + "\r\n";
    (void)send(socket_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  for (auto each = pages_.begin(); each != pages_.end();) {
    each = each->second.closed() ? pages_.erase(each) : std::next(each);
  }
  return Read::kOne;
}

Status GuardedClients::join(const std::string& client, const Descriptor& page) {
  Result<HeldPageView> view = HeldPageView::open(page.get());
  if (!view.ok()) return view.status();
  pages_.emplace(client, std::move(view.value()));
  joined_ = true;
  return {};
}

bool GuardedClients::done() const {
  if (joined_ && pages_.empty()) return true;
  const TimePoint now = SystemClock().now();
  return at_end_ && std::all_of(pages_.begin(), pages_.end(), [now](const auto& page) {
           return page.second.closed() || page.second.held(now).empty();
         });
}

void GuardedClients::release_all(int keeper) {
  std::size_t left = pages_.size();
  for (const auto& [number, page] : pages_) {
    const bool last = --left == 0;
    const pid_t child = last ? -1 : fork();
    if (child > 0) continue;
    if (!page.closed()) guard::release_all(page, keeper);
    if (child == 0) _exit(0);
  }
}

constexpr int kSocket = 3;
constexpr int kProgram = 4;
constexpr int kKeeper = 5;
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
  if (syscall(SYS_close_range, kKeeper + 1, ~0U, 0U) == 0) return;
  const auto most = static_cast<int>(std::min(sysconf(_SC_OPEN_MAX), 65536L));
  for (int fd = kKeeper + 1; fd < most; ++fd) close(fd);
}

// The pipe that keeps the holds; -1: nothing does.
int keeper() {
  struct stat found {};
  return fstat(kKeeper, &found) == 0 && S_ISFIFO(found.st_mode) ? kKeeper : -1;
}

// True: the program has ended, with all of its threads. False: it has closed its clients, or called
// exec(), and the leases are over.
bool await_end(GuardedClients& clients, const Descriptor& program) {
  using Read = GuardedClients::Read;
  std::array<pollfd, 2> waited{{{program.get(), POLLIN, 0}, {clients.fd(), POLLIN, 0}}};
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
}  // namespace holdfast::guard

int main() {
  holdfast::guard::leave_the_program();
  holdfast::guard::GuardedClients clients{holdfast::Descriptor(holdfast::guard::kSocket)};
  const holdfast::Descriptor program(holdfast::guard::kProgram);
  if (await_end(clients, program)) clients.release_all(holdfast::guard::keeper());
  return 0;
}
