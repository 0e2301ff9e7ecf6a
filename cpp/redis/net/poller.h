#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "redis/base/clock.h"
#include "redis/base/process.h"
#include "redis/net/pollable.h"

namespace holdfast::net {

// Waits for many descriptors, a moment and a wake-up at once: by epoll, timerfd and eventfd on
// Linux, by kqueue elsewhere (built for macOS, but not run there). For one thread, except
// wake() and set_alarm().
class Poller {
 public:
  // The events that one pollable waits for; only changes are passed to the kernel. Owned by the
  // caller, which drops it before destroying it.
  struct Watch {
   private:
    friend class Poller;
    int fd = -1;
    std::uint32_t events = 0;
    std::uint64_t serial = 0;  // the Descriptor's; 0: a foreign descriptor
    std::uint64_t token = 0;   // its id in the kernel's events
  };

  Poller();  // throws LimitReached where the system gives no descriptors
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Sets the fd and events of `watch` to those of the interest; without events it is idle. A
  // descriptor that has been closed is distinguished from a new one with its number. False when the
  // system refuses: there will be no event.
  bool update(Watch& watch, const Interest& interest);
  void drop(Watch& watch);

  // Ends a wait() when `delay` is over (on a clock that counts suspend); replaces the one before.
  void set_alarm(Duration delay);

  // Waits for an event, the alarm or a wake-up; `block` false: only checks. Appends the watches
  // with events to `ready`. True when the alarm went off.
  bool wait(bool block, std::vector<Watch*>& ready);

  // Ends the current wait(), or else the next one. Any thread.
  void wake();

 private:
  enum class Change { kAdd, kModify, kRemove };

  static std::uint32_t events_of(const Interest& interest);
  bool apply(const Watch& watch, Change change);

#ifdef __linux__
  bool listen(const Descriptor& epoll);
  void rebuild(bool may_pause, std::vector<Watch*>& ready);

  Descriptor epoll_;
  Descriptor wake_;
  Descriptor alarm_;
#else
  Descriptor queue_;
#endif
  std::uint64_t last_token_ = 1;  // 0 and 1 are the wake-up's and the alarm's
  std::unordered_map<std::uint64_t, Watch*> by_token_;
  std::unordered_map<int, Watch*> by_fd_;  // the one whose events the kernel reports for a number
};

// Descriptors that are polled as one, which an event loop of the application polls: by epoll on
// Linux, by kqueue elsewhere. The result is readable while one of them is. Throws LimitReached
// where the system gives none.
Descriptor make_readable_set();
// False: the system refuses it, with errno.
bool add_readable(int set, int fd);
void remove_readable(int set, int fd);

}  // namespace holdfast::net
