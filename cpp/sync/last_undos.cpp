#include "sync/last_undos.h"

#include <algorithm>
#include <utility>

namespace holdfast::sync {

void LastUndos::add(const Key& key, const std::shared_ptr<client::Request>& undo) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::weak_ptr<client::Request>& last = undos_[key];
  const std::shared_ptr<client::Request> before = std::exchange(last, undo).lock();
  if (!before) return;
  undo->deadline = std::max(undo->deadline, before->deadline);
  before->abandon();
}

void LastUndos::remove(const Key& key, const client::Request& undo) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = undos_.find(key);
  if (found != undos_.end() && found->second.lock().get() == &undo) undos_.erase(found);
}

}  // namespace holdfast::sync
