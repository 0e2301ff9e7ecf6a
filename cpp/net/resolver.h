#pragma once

#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "net/descriptor.h"
#include "net/endpoint.h"

namespace holdfast::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Turns an Address into socket addresses without blocking. To be used by one thread.
class Resolver {
 public:
  // A path or an IP literal is answered at once, a name by a short-lived thread, which outlives the
  // Resolver if getaddrinfo() takes long.
  explicit Resolver(const Address& address);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // A descriptor that becomes readable when done() comes true; -1 where it was true from the start.
  int fd() const;
  bool done() const;

  // Once done(): the addresses in the order to try them, at least one, or the failure.
  Result<std::vector<SocketAddress>> take();

 private:
  struct Lookup;
  void start(const Address& address);  // throws LimitReached
  std::shared_ptr<Lookup> lookup_;
};

}  // namespace holdfast::net
