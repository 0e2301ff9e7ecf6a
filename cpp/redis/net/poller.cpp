#include "redis/net/poller.h"

#include <cerrno>

// The common part of epoll and kqueue: the watch of a kernel event.
namespace holdfast::net {

bool Poller::update(Watch& watch, const Interest& interest) {
  const std::uint32_t events = events_of(interest);
  if (interest.fd < 0 || events == 0) {
    drop(watch);
    return true;
  }
  const std::uint64_t serial = serial_of(interest.fd);
  if (watch.fd == interest.fd && watch.serial == serial) {
    // A foreign descriptor may have been closed and reopened unnoticed: modify it each time.
    if (watch.events == events && serial != 0) return true;
    watch.events = events;
    if (apply(watch, Change::kModify)) return true;
  }
  drop(watch);
  watch.fd = interest.fd;
  watch.serial = serial;
  watch.events = events;
  // The earlier watch of this number waits for a descriptor that is closed, and must not remove
  // this one from the kernel's set.
  if (const auto before = by_fd_.find(watch.fd); before != by_fd_.end()) drop(*before->second);
  watch.token = ++last_token_;
  const bool applied =
      apply(watch, Change::kAdd) || (errno == EEXIST && apply(watch, Change::kModify));
  if (!applied) {
    watch = Watch{};
    return false;
  }
  by_token_[watch.token] = &watch;
  by_fd_[watch.fd] = &watch;
  return true;
}

void Poller::drop(Watch& watch) {
  if (watch.fd < 0) return;
  apply(watch, Change::kRemove);  // a closed descriptor has left already
  by_token_.erase(watch.token);
  by_fd_.erase(watch.fd);
  watch = Watch{};
}

}  // namespace holdfast::net
