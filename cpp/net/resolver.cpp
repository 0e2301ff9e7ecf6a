#include "net/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/process.h"
#include "base/thread.h"

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

// The state that the two threads share; `outcome` belongs to the resolving one until `done`.
struct Resolver::Lookup {
  std::atomic<bool> done{false};
  Result<Addresses> outcome{Addresses{}};
  Descriptor ready;
};

Resolver::Resolver(const Address& address) : lookup_(std::make_shared<Lookup>()) {
  Addresses literal;
  if (!address.path.empty()) {
    lookup_->outcome = unix_address(address);
    lookup_->done = true;
  } else if (look_up(address, AI_NUMERICHOST, literal) == 0) {
    lookup_->outcome = std::move(literal);
    lookup_->done = true;
  } else {
    try {
      start(address);
    } catch (const LimitReached& limit) {
      lookup_->outcome = Status::unreachable(
          "cannot resolve " + address.text() + ": " + limit.what(), Reach::kRefused);
      lookup_->done = true;
    }
  }
}

void Resolver::start(const Address& address) {
  const int fd = make_wake_up();
  if (fd < 0) throw LimitReached("eventfd", errno);
  lookup_->ready = Descriptor(fd);
  start_thread("holdfast-dns", [lookup = lookup_, address] {
    lookup->outcome = look_up_name(address);
    lookup->done = true;
    wake(lookup->ready.get());
  }).detach();
}

Resolver::~Resolver() = default;

int Resolver::fd() const { return lookup_->ready.get(); }
bool Resolver::done() const { return lookup_->done; }
Result<std::vector<SocketAddress>> Resolver::take() { return std::move(lookup_->outcome); }

}  // namespace holdfast::net
