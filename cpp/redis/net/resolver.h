#pragma once

#include <sys/socket.h>

#include <memory>
#include <vector>

#include "redis/net/endpoint.h"

namespace holdfast::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

// The addresses in the order to try them, at least one.
using Resolution = ValueRequest<std::vector<SocketAddress>>;

// Turns an Address into socket addresses without blocking. A path or an IP literal is answered at
// once, a name by a short-lived thread, which outlives the Resolution if getaddrinfo() takes long.
std::shared_ptr<Resolution> resolve(const Address& address);

}  // namespace holdfast::net
