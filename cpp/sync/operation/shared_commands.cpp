#include "sync/operation/shared_commands.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace holdfast::sync {

CommandsPtr SharedCommands::share(const Recipe& recipe, CommandsPtr made) {
  std::string key = std::to_string(reinterpret_cast<std::uintptr_t>(&recipe)) + ' ' +
                    std::to_string(made->lease_.count()) + ' ' + made->publish_ + ' ' +
                    made->acquire.shape() + made->release.shape();
  const MutexLock guard(mutex_);
  const auto known = all_.find(key);
  if (known != all_.end()) return known->second;
  if (all_.size() >= most_) forget_unused();
  return all_.emplace(std::move(key), std::move(made)).first->second;
}

std::size_t SharedCommands::size() const {
  const MutexLock guard(mutex_);
  return all_.size();
}

void SharedCommands::forget_unused() {
  for (auto each = all_.begin(); each != all_.end();) {
    each = each->second->references_.one() ? all_.erase(each) : std::next(each);
  }
  most_ = std::max<std::size_t>(most_, 2 * all_.size());
}

}  // namespace holdfast::sync
