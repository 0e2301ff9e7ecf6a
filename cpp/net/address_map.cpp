#include "net/address_map.h"

#include <algorithm>

namespace holdfast::net {

const Address& mapped(const AddressTable& table, const Address& announced) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const auto& entry) { return entry.first == announced; });
  return found == table.end() ? announced : found->second;
}

std::shared_ptr<AddressRequest> AddressMap::request(const Address& announced) {
  if (source_) return source_(announced);
  const MutexLock lock(mutex_);
  return std::make_shared<AddressRequest>(mapped(known_, announced));
}

void AddressMap::note(const Address& announced, const Address& reachable) {
  if (!source_) return;
  const MutexLock lock(mutex_);
  const auto is_it = [&](const auto& entry) { return entry.first == announced; };
  known_.erase(std::remove_if(known_.begin(), known_.end(), is_it), known_.end());
  if (known_.size() == kMostKnown) known_.erase(known_.begin());
  known_.emplace_back(announced, reachable);
}

AddressTable AddressMap::known() const {
  const MutexLock lock(mutex_);
  return known_;
}

}  // namespace holdfast::net
