#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "redis/net/socket_transport.h"
#include "redis/net/transport.h"

namespace holdfast::net {

// A bound that no machine is too slow for; tests that pass never wait for it.
constexpr std::chrono::seconds kBound{30};

// Whether `condition` comes true in time.
inline bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kBound;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// Waits as an IoResult asks for; false when that takes too long.
inline bool wait_for(const Transport& transport, Io io) {
  pollfd wanted{transport.fd(), static_cast<short>(io == Io::kWantRead ? POLLIN : POLLOUT), 0};
  const auto bound = std::chrono::duration_cast<Millis>(kBound);
  const TimePoint due = transport.due();
  const Millis left = due == kNever ? bound : std::chrono::ceil<Millis>(due - SystemClock().now());
  const int ready = poll(&wanted, 1, static_cast<int>(std::max(left, Millis(0)).count()));
  return ready == 1 || due != kNever;
}

// Calls `operation` until it is done or has failed.
inline IoResult complete(Transport& transport, const std::function<IoResult()>& operation) {
  for (;;) {
    IoResult result = operation();
    if (result.io == Io::kDone || result.io == Io::kFailed) return result;
    if (!wait_for(transport, result.io)) throw std::runtime_error("no progress");
  }
}

inline IoResult connect(Transport& transport) {
  return complete(transport, [&] { return transport.connect(); });
}

inline IoResult write_all(Transport& transport, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const IoResult result = complete(
        transport, [&] { return transport.write(bytes.data() + sent, bytes.size() - sent); });
    if (result.io == Io::kFailed) return result;
    sent += result.bytes;
  }
  return {};
}

// Exactly `size` bytes; less when the transport fails before.
inline std::string read_exactly(Transport& transport, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t got = 0;
  while (got < size) {
    const IoResult result =
        complete(transport, [&] { return transport.read(&bytes[got], size - got); });
    if (result.io == Io::kFailed) break;
    got += result.bytes;
  }
  bytes.resize(got);
  return bytes;
}

inline std::string ping(Transport& transport) {
  const IoResult sent = write_all(transport, "PING\r\n");
  return sent.io == Io::kDone ? read_exactly(transport, 7) : sent.status.message();
}

inline SocketAddress loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  SocketAddress socket;
  std::memcpy(&socket.storage, &address, sizeof address);
  socket.size = sizeof address;
  return socket;
}

// A listening socket of 127.0.0.1.
class Listener {
 public:
  explicit Listener(int backlog = 16, std::uint16_t port = 0) {
    const SocketAddress address = loopback(port);
    const int on = 1;
    setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const auto* const here = reinterpret_cast<const sockaddr*>(&address.storage);
    if (bind(socket_.get(), here, address.size) != 0 || listen(socket_.get(), backlog) != 0) {
      throw std::runtime_error("cannot listen");
    }
  }

  std::uint16_t port() const {
    sockaddr_in name{};
    socklen_t size = sizeof name;
    getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&name), &size);
    return ntohs(name.sin_port);
  }

  Address address() const { return {"127.0.0.1", port(), {}}; }

  // The next connection, blocking.
  Descriptor accept() const { return Descriptor(::accept(socket_.get(), nullptr, nullptr)); }

 private:
  Descriptor socket_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

}  // namespace holdfast::net
