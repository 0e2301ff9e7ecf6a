#include "redis/net/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "redis/base/process.h"

namespace holdfast::net {
namespace {

using Addresses = std::vector<SocketAddress>;

Result<Addresses> unix_address(const Address& address) {
  sockaddr_un name{};
  if (address.path.size() >= sizeof name.sun_path) {
    return Status::unreachable("cannot connect to " + address.text() +
                               ": the path is too long for a socket (at most " +
                               std::to_string(sizeof name.sun_path - 1) + " bytes)");
  }
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, address.path.data(), address.path.size());
  SocketAddress socket;
  std::memcpy(&socket.storage, &name, sizeof name);
  socket.size = sizeof name;
  return Addresses{socket};
}

// getaddrinfo(): 0 or its error.
int look_up(const Address& address, int flags, Addresses& into) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const int error = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) return error;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    SocketAddress socket;
    std::memcpy(&socket.storage, each->ai_addr, each->ai_addrlen);
    socket.size = each->ai_addrlen;
    into.push_back(socket);
  }
  freeaddrinfo(found);
  return into.empty() ? EAI_NONAME : 0;
}

Result<Addresses> look_up_name(const Address& address) {
  Addresses found;
  const int error = look_up(address, 0, found);
  if (error == 0) return found;
  const std::string reason =
      error == EAI_SYSTEM ? std::generic_category().message(errno) : gai_strerror(error);
  const bool absent = error == EAI_NONAME;
  return Status::unreachable(
      "cannot connect to " + address.text() + ": " + reason + " (is the host name right?)",
      absent ? Reach::kRefused : Reach::kUnknown);
}

}  // namespace

std::shared_ptr<Resolution> resolve(const Address& address) {
  const auto answered = [](Result<Addresses> outcome) {
    return std::make_shared<Resolution>(std::move(outcome));
  };
  if (!address.path.empty()) return answered(unix_address(address));
  Addresses literal;
  if (look_up(address, AI_NUMERICHOST, literal) == 0) return answered(std::move(literal));
  const std::string what = "cannot resolve " + address.text() + ": ";
  const auto resolution = std::make_shared<Resolution>();
  if (resolution->done()) return answered(resolution->take().status().prefixed(what));
  try {
    start_thread("holdfast-dns", [resolution, address] {
      resolution->answer(look_up_name(address));
    }).detach();
  } catch (const LimitReached& limit) {
    return answered(Status::unreachable(what + limit.what(), Reach::kRefused));
  }
  return resolution;
}

}  // namespace holdfast::net
