#include "net/socket_transport.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/limit.h"
#include "net/sockets.h"

namespace holdfast::net {
namespace {

constexpr KeepAlive kKeepAlive = {/*idle_seconds=*/5, /*interval_seconds=*/2, /*probes=*/3};

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

// Whether trying again is of use only when something has changed.
Reach reach_of(int error) {
  constexpr int kKnownAtOnce[] = {ECONNREFUSED, ENOENT, EMFILE, ENFILE, EACCES, EPERM};
  const bool known =
      std::find(std::begin(kKnownAtOnce), std::end(kKnownAtOnce), error) != std::end(kKnownAtOnce);
  return known ? Reach::kRefused : Reach::kUnknown;
}

bool same_address(const SocketAddress& a, const SocketAddress& b) {
  return a.size == b.size && std::memcmp(&a.storage, &b.storage, a.size) == 0;
}

}  // namespace

SocketTransport::SocketTransport(const Address& address, Millis user_timeout)
    : name_(address.text()),
      user_timeout_(user_timeout),
      resolver_(std::make_unique<Resolver>(address)) {}

SocketTransport::SocketTransport(std::string name, std::vector<SocketAddress> addresses,
                                 Millis user_timeout)
    : name_(std::move(name)), user_timeout_(user_timeout), addresses_(std::move(addresses)) {}

int SocketTransport::fd() const {
  return resolver_ != nullptr && !socket_.open() ? resolver_->fd() : socket_.get();
}

IoResult SocketTransport::connect() {
  if (connected_) return {};
  if (socket_.open()) return finish();
  if (resolver_ != nullptr) {
    if (!resolver_->done()) return {Io::kWantRead, 0, {}};
    auto resolved = resolver_->take();
    resolver_.reset();
    if (!resolved.ok()) return {Io::kFailed, 0, resolved.status()};
    addresses_ = std::move(resolved.value());
  }
  return begin_next();
}

IoResult SocketTransport::begin_next() {
  int error = ENOENT;
  while (next_ < addresses_.size()) {
    const SocketAddress& address = addresses_[next_++];
    const int family = address.storage.ss_family;
    socket_ = Descriptor(open_stream_socket(family));
    if (socket_.open()) {
      if (family != AF_UNIX) {
        prepare_tcp(user_timeout_ / static_cast<Millis::rep>(addresses_.size()));
      }
      if (::connect(socket_.get(), address.get(), address.size) == 0) return finish();
      if (errno == EINPROGRESS || errno == EINTR) return {Io::kWantWrite, 0, {}};
    }
    error = errno;
  }
  socket_.reset();
  return failed("cannot connect to ", error);
}

IoResult SocketTransport::finish() {
  pollfd ready{socket_.get(), POLLOUT, 0};
  if (poll(&ready, 1, 0) <= 0) return {Io::kWantWrite, 0, {}};
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0 && connected_to_itself()) {
    abort();
    error = ECONNREFUSED;
  }
  if (error != 0) return refused(error);
  set_user_timeout(socket_.get(), user_timeout_);
  let_await_block();
  connected_ = true;
  return {};
}

IoResult SocketTransport::refused(int error) {
  if (next_ < addresses_.size()) return begin_next();
  socket_.reset();
  return failed("cannot connect to ", error);
}

void SocketTransport::prepare_tcp(Millis connect_timeout) const {
  const int fd = socket_.get();
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  set_keep_alive(fd, kKeepAlive);
  set_user_timeout(fd, connect_timeout);
}

// All other calls use MSG_DONTWAIT.
void SocketTransport::let_await_block() const {
  if (!kFlagsSuffice) return;
  const int fd = socket_.get();
  timeval longest{};
  longest.tv_usec =
      static_cast<decltype(longest.tv_usec)>(std::chrono::microseconds(moment()).count());
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

// If no server listens on a port that the system also uses for outgoing connections, TCP can
// connect a socket to itself. It would read its own commands as replies, and keep the port from
// the server that is about to come back.
bool SocketTransport::connected_to_itself() const {
  SocketAddress here;
  SocketAddress there;
  here.size = there.size = sizeof(sockaddr_storage);
  auto* const h = reinterpret_cast<sockaddr*>(&here.storage);
  auto* const t = reinterpret_cast<sockaddr*>(&there.storage);
  if (getsockname(socket_.get(), h, &here.size) != 0) return false;
  if (getpeername(socket_.get(), t, &there.size) != 0) return false;
  return here.storage.ss_family != AF_UNIX && same_address(here, there);
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

void SocketTransport::abort() {
  const linger reset{1, 0};
  if (socket_.open()) setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

IoResult SocketTransport::failed(const std::string& what, int error) const {
  return {Io::kFailed, 0,
          Status::unreachable(
              what + name_ + ": " + std::generic_category().message(error) + hint_for(error),
              reach_of(error))};
}

}  // namespace holdfast::net
