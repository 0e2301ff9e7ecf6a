#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "redis/base/mutex.h"
#include "redis/net/resolver.h"

namespace holdfast::net {

bool same_address(const SocketAddress& a, const SocketAddress& b);

// The knowledge of a client's connections about the addresses of each name ("host:port").
// Thread-safe.
class AddressMemory {
 public:
  // The addresses of `name`, in the order to try: the address that was reached last, those
  // of which nothing is known, as the resolver has them, and those that have proved stale, the
  // latest at the end.
  std::vector<SocketAddress> sorted(const std::string& name, std::vector<SocketAddress> resolved)
      HOLDFAST_EXCLUDES(mutex_);

  void reached(const std::string& name, const SocketAddress& address) HOLDFAST_EXCLUDES(mutex_);
  void failed(const std::string& name, const SocketAddress& address) HOLDFAST_EXCLUDES(mutex_);
  // The server at the address that was reached last is not the one to use.
  void proved_stale(const std::string& name) HOLDFAST_EXCLUDES(mutex_);

  // Whether one of these is none that the name had when it was resolved last.
  bool has_new(const std::string& name, const std::vector<SocketAddress>& resolved) const
      HOLDFAST_EXCLUDES(mutex_);

  // How many addresses it had last.
  std::size_t count(const std::string& name) const HOLDFAST_EXCLUDES(mutex_);

 private:
  struct Known {
    std::optional<SocketAddress> reached;
    std::vector<SocketAddress> stale;
    std::vector<SocketAddress> resolved;
  };

  mutable Mutex mutex_;
  std::map<std::string, Known> names_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::net
