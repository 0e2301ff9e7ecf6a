#include "redis/net/socket_transport.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "redis/base/process.h"

namespace holdfast::net {

namespace {

void set_option(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof value);
}

// What systems name differently: a socket that does not block, raises no signal with kNoSignal, and
// is closed by exec; and how long bytes may stay without an acknowledgement before the connection
// is lost, and a connect() may take.
#ifdef __linux__

constexpr int kIdle = TCP_KEEPIDLE;
constexpr int kNoSignal = MSG_NOSIGNAL;
constexpr bool kFlagsSuffice = true;  // MSG_DONTWAIT does for every call what O_NONBLOCK does

Descriptor open_stream_socket(int family) {
  return Descriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void set_user_timeout(int fd, Millis timeout) {
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
             static_cast<int>(std::clamp<Millis::rep>(timeout.count(), 1, 1 << 30)));
}

#else  // built for macOS, but never run there

constexpr int kIdle = TCP_KEEPALIVE;
constexpr int kNoSignal = 0;  // set for the socket
constexpr bool kFlagsSuffice = false;

Descriptor open_stream_socket(int family) {
  Descriptor opened(socket(family, SOCK_STREAM, 0));
  if (!opened.open()) return opened;
  fcntl(opened.get(), F_SETFD, FD_CLOEXEC);
  fcntl(opened.get(), F_SETFL, O_NONBLOCK);
  set_option(opened.get(), SOL_SOCKET, SO_NOSIGPIPE, 1);
  return opened;
}

// In whole seconds, rounded up.
void set_user_timeout(int fd, Millis timeout) {
  constexpr Millis::rep kLongest = 1 << 30;
  const Millis::rep millis = std::clamp<Millis::rep>(timeout.count(), 1, kLongest);
  const auto seconds = static_cast<int>((millis + 999) / 1000);
  set_option(fd, IPPROTO_TCP, TCP_CONNECTIONTIMEOUT, seconds);
  set_option(fd, IPPROTO_TCP, TCP_RXT_CONNDROPTIME, seconds);
}

#endif

struct Hint {
  int error;
  const char* text;
};

constexpr Hint kHints[] = {
    {ECONNREFUSED, " (is a server running there?)"},
    {ENOENT, " (is a server running there?)"},
    {ETIMEDOUT, " (is a server running there?)"},
    {EHOSTUNREACH, " (is the network up?)"},
    {ENETUNREACH, " (is the network up?)"},
    {EACCES, " (do the rights of the socket, or a firewall, allow it?)"},
    {EPERM, " (do the rights of the socket, or a firewall, allow it?)"},
    {EAGAIN, " (its queue of new connections is full)"},
};

std::string hint_for(int error) {
  for (const Hint& hint : kHints) {
    if (hint.error == error) return hint.text;
  }
  const std::string limit = limit_hint(error);
  return limit.empty() ? limit : " (" + limit + ")";
}

// RFC 8305: before the next address is tried beside one that has not answered. And the looks at the
// others meanwhile.
constexpr Millis kNextAddress{250};
constexpr Millis kLook{10};

// If no server listens on a port that the system also uses for outgoing connections, TCP can
// connect a socket to itself. It would read its own commands as replies, and keep the port from
// the server that is about to come back.
bool connected_to_itself(int fd) {
  SocketAddress here;
  SocketAddress there;
  here.size = there.size = sizeof(sockaddr_storage);
  auto* const h = reinterpret_cast<sockaddr*>(&here.storage);
  auto* const t = reinterpret_cast<sockaddr*>(&there.storage);
  if (getsockname(fd, h, &here.size) != 0) return false;
  if (getpeername(fd, t, &there.size) != 0) return false;
  return here.storage.ss_family != AF_UNIX && same_address(here, there);
}

void reset_at_close(const Descriptor& socket) {
  const linger reset{1, 0};
  if (socket.open()) setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

}  // namespace

SocketTransport::SocketTransport(const Address& address, Millis user_timeout,
                                 std::shared_ptr<AddressMemory> memory)
    : name_(address.text()),
      user_timeout_(user_timeout),
      resolution_(resolve(address)),
      memory_(std::move(memory)) {}

SocketTransport::SocketTransport(std::string name, std::shared_ptr<Resolution> resolution,
                                 Millis user_timeout)
    : name_(std::move(name)), user_timeout_(user_timeout), resolution_(std::move(resolution)) {}

int SocketTransport::fd() const {
  if (!race_.empty()) return race_.back().socket.get();
  return resolution_ != nullptr && !socket_.open() ? resolution_->fd() : socket_.get();
}

TimePoint SocketTransport::due() const {
  if (race_.empty()) return kNever;
  const TimePoint look = race_.size() > 1 ? after(SystemClock().now(), kLook) : kNever;
  return next_ < addresses_.size() ? std::min(look, next_at_) : look;
}

IoResult SocketTransport::connect() {
  if (connected_) return {};
  if (resolution_ != nullptr) {
    if (!resolution_->done()) return {Io::kWantRead, 0, {}};
    auto resolved = resolution_->take();
    resolution_.reset();
    if (!resolved.ok()) return {Io::kFailed, 0, resolved.status()};
    addresses_ = std::move(resolved.value());
    if (memory_) addresses_ = memory_->sorted(name_, std::move(addresses_));
  }
  return race();
}

IoResult SocketTransport::race() {
  if (next_ < addresses_.size() && (race_.empty() || SystemClock().now() >= next_at_)) begin_next();
  for (auto each = race_.begin(); each != race_.end();) {
    const int error = outcome(*each);
    if (error == 0) return use(std::move(*each));
    if (error == EINPROGRESS) {
      ++each;
      continue;
    }
    note_failure(each->to, error);
    each = race_.erase(each);
  }
  if (!race_.empty()) return {Io::kWantWrite, 0, {}};
  if (next_ < addresses_.size()) return race();
  return failed("cannot connect to ", error_ != 0 ? error_ : ENOENT);
}

void SocketTransport::note_failure(const SocketAddress& to, int error) {
  error_ = error;
  if (memory_) memory_->failed(name_, to);
}

// One that fails at once gives way to the next.
void SocketTransport::begin_next() {
  while (next_ < addresses_.size()) {
    const SocketAddress& to = addresses_[next_++];
    next_at_ = after(SystemClock().now(), kNextAddress);
    const int error = begin(to);
    if (error == 0) return;
    note_failure(to, error);
  }
}

int SocketTransport::begin(const SocketAddress& to) {
  Descriptor socket = open_stream_socket(to.storage.ss_family);
  if (!socket.open()) return errno;
  if (to.storage.ss_family != AF_UNIX) {
    const int fd = socket.get();
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    // Probes after 5 s of silence, each 2 s, three of them.
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, kIdle, 5);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
    set_user_timeout(fd, user_timeout_);
  }
  const auto* const address = reinterpret_cast<const sockaddr*>(&to.storage);
  const bool done = ::connect(socket.get(), address, to.size) == 0;
  if (!done && errno != EINPROGRESS && errno != EINTR) return errno;
  race_.push_back({std::move(socket), to});
  return 0;
}

int SocketTransport::outcome(const Attempt& attempt) {
  pollfd ready{attempt.socket.get(), POLLOUT, 0};
  if (poll(&ready, 1, 0) <= 0) return EINPROGRESS;
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(attempt.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0 || !connected_to_itself(attempt.socket.get())) return error;
  reset_at_close(attempt.socket);
  return ECONNREFUSED;
}

IoResult SocketTransport::use(Attempt winner) {
  socket_ = std::move(winner.socket);
  race_.clear();
  if (memory_) memory_->reached(name_, winner.to);
  if (kFlagsSuffice) {  // await() may block then: all other calls use MSG_DONTWAIT
    const int fd = socket_.get();
    timeval longest{};
    longest.tv_usec =
        static_cast<decltype(longest.tv_usec)>(std::chrono::microseconds(moment()).count());
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  }
  connected_ = true;
  return {};
}

IoResult SocketTransport::read(char* into, std::size_t size) {
  return receive(into, size, MSG_DONTWAIT);
}

bool SocketTransport::has_input() const {
  char first = 0;
  const ssize_t got = recv(socket_.get(), &first, sizeof first, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

IoResult SocketTransport::await(char* into, std::size_t size) {
  if (kFlagsSuffice) return receive(into, size, 0);
  pollfd come{socket_.get(), POLLIN, 0};
  poll(&come, 1, static_cast<int>(moment().count()));
  return read(into, size);
}

// Longer than most replies take, short enough for threads that have to interrupt the reader.
Millis SocketTransport::moment() const { return Millis(20); }

IoResult SocketTransport::receive(char* into, std::size_t size, int flags) {
  for (;;) {
    const ssize_t got = recv(socket_.get(), into, size, flags);
    if (got > 0) return {Io::kDone, static_cast<std::size_t>(got), {}};
    if (got == 0) {
      return {Io::kFailed, 0, Status::unreachable(name_ + " closed the connection")};
    }
    const bool ended_by_signal = errno == EINTR && flags == 0;
    if (errno == EAGAIN || errno == EWOULDBLOCK || ended_by_signal) return {Io::kWantRead, 0, {}};
    if (errno != EINTR) return failed("the connection is lost to ", errno);
  }
}

IoResult SocketTransport::write(const char* from, std::size_t size) {
  for (;;) {
    const ssize_t sent = send(socket_.get(), from, size, kNoSignal | MSG_DONTWAIT);
    if (sent >= 0) return {Io::kDone, static_cast<std::size_t>(sent), {}};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {Io::kWantWrite, 0, {}};
    if (errno != EINTR) return failed("the connection is lost to ", errno);
  }
}

void SocketTransport::abort() { reset_at_close(socket_); }

IoResult SocketTransport::failed(const std::string& what, int error) const {
  // Trying again is of use only when something has changed.
  constexpr int kKnownAtOnce[] = {ECONNREFUSED, ENOENT, EMFILE, ENFILE, EACCES, EPERM};
  const bool known =
      std::find(std::begin(kKnownAtOnce), std::end(kKnownAtOnce), error) != std::end(kKnownAtOnce);
  return {Io::kFailed, 0,
          Status::unreachable(
              what + name_ + ": " + std::generic_category().message(error) + hint_for(error),
              known ? Reach::kRefused : Reach::kUnknown)};
}

namespace {
constexpr std::string_view kPing = "PING\r\n";
constexpr char kAlert = 0x15;  // the first byte of a TLS answer
}  // namespace

PlainTextProbe::Finding PlainTextProbe::advance() {
  IoResult step;
  if (!connected_) step = socket_.connect();
  connected_ = connected_ || step.io == Io::kDone;
  if (connected_ && !sent_) {
    step = socket_.write(kPing.data(), kPing.size());
    sent_ = step.io == Io::kDone;
  }
  char first = 0;
  if (sent_) {
    step = socket_.read(&first, 1);
    if (step.io == Io::kDone) return first == kAlert ? Finding::kUnknown : Finding::kPlainText;
  }
  writes_ = step.io == Io::kWantWrite;
  return step.io == Io::kFailed ? Finding::kUnknown : Finding::kPending;
}

Interest PlainTextProbe::interest() const {
  return {socket_.fd(), !writes_, writes_, socket_.due()};
}

Status PlainTextProbe::failure(const Address& address) {
  return Status::unreachable("cannot connect to " + address.text() +
                                 " over TLS: the server answers in plain text (does the port "
                                 "speak TLS? redis:// in place of rediss:// connects without)",
                             Reach::kPlainText);
}

}  // namespace holdfast::net
