#include "redis/net/endpoint.h"

#include <algorithm>
#include <cerrno>

#include "redis/base/process.h"

namespace holdfast::net {

std::string Address::text() const {
  if (!path.empty()) return "unix:" + path;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string Endpoint::text() const {
  const std::string db = std::to_string(database);
  if (!addresses.empty() && !addresses.front().path.empty()) {
    return "unix://" + addresses.front().path + (database == 0 ? "" : "?db=" + db);
  }
  std::string text = tls.enabled ? "rediss" : "redis";
  if (deployment == Deployment::kSentinel) text += "+sentinel";
  if (deployment == Deployment::kCluster) text += "+cluster";
  text += "://";
  for (const Address& address : addresses) {
    if (&address != &addresses.front()) text += ',';
    text += address.text();
  }
  if (deployment == Deployment::kSentinel) text += "/" + service;
  // Most clusters have no other.
  if (deployment != Deployment::kCluster || database != 0) text += "/" + db;
  return text;
}

RequestSignal::RequestSignal(bool answered) : done_(answered) {
  if (answered) return;
  ready_ = make_wake_up();
  if (ready_.open()) return;
  obstacle_ = Status::unreachable(limit_text("no descriptor to wait with", errno), Reach::kRefused);
}

void RequestSignal::signal() {
  done_ = true;
  if (ready_.open()) wake(ready_.get());
}

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
