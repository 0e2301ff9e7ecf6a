#include "redis/net/address_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast::net {

namespace {

bool has(const std::vector<SocketAddress>& all, const SocketAddress& address) {
  return std::any_of(all.begin(), all.end(),
                     [&](const SocketAddress& each) { return same_address(each, address); });
}

}  // namespace

bool same_address(const SocketAddress& a, const SocketAddress& b) {
  return a.size == b.size && std::memcmp(&a.storage, &b.storage, a.size) == 0;
}

std::vector<SocketAddress> AddressMemory::sorted(const std::string& name,
                                                 std::vector<SocketAddress> resolved) {
  const MutexLock lock(mutex_);
  Known& known = names_[name];
  const auto gone = [&](const SocketAddress& each) { return !has(resolved, each); };
  known.stale.erase(std::remove_if(known.stale.begin(), known.stale.end(), gone),
                    known.stale.end());
  known.resolved = resolved;
  // The later, the greater.
  const auto place = [&](const SocketAddress& each) -> std::size_t {
    if (known.reached && same_address(*known.reached, each)) return 0;
    for (std::size_t i = 0; i < known.stale.size(); ++i) {
      if (same_address(known.stale[i], each)) return i + 2;
    }
    return 1;
  };
  std::stable_sort(resolved.begin(), resolved.end(),
                   [&](const SocketAddress& one, const SocketAddress& other) {
                     return place(one) < place(other);
                   });
  return resolved;
}

void AddressMemory::reached(const std::string& name, const SocketAddress& address) {
  const MutexLock lock(mutex_);
  names_[name].reached = address;
}

void AddressMemory::failed(const std::string& name, const SocketAddress& address) {
  const MutexLock lock(mutex_);
  std::optional<SocketAddress>& reached = names_[name].reached;
  if (reached && same_address(*reached, address)) reached.reset();
}

void AddressMemory::proved_stale(const std::string& name) {
  const MutexLock lock(mutex_);
  Known& known = names_[name];
  if (!known.reached) return;
  const auto is_it = [&](const SocketAddress& each) { return same_address(each, *known.reached); };
  known.stale.erase(std::remove_if(known.stale.begin(), known.stale.end(), is_it),
                    known.stale.end());
  known.stale.push_back(*known.reached);
  known.reached.reset();
}

bool AddressMemory::has_new(const std::string& name,
                            const std::vector<SocketAddress>& resolved) const {
  const MutexLock lock(mutex_);
  const auto found = names_.find(name);
  if (found == names_.end()) return false;
  return std::any_of(resolved.begin(), resolved.end(),
                     [&](const SocketAddress& each) { return !has(found->second.resolved, each); });
}

std::size_t AddressMemory::count(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto found = names_.find(name);
  return found == names_.end() ? 0 : found->second.resolved.size();
}

}  // namespace holdfast::net
