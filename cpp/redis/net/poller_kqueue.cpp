#ifndef __linux__

#include <fcntl.h>
#include <sys/event.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "redis/base/process.h"
#include "redis/net/poller.h"

// Built for macOS, but never run there.
namespace holdfast::net {
namespace {

constexpr std::uint64_t kWakeToken = 0;
constexpr std::uint64_t kAlarmToken = 1;
constexpr std::size_t kBatch = 64;
constexpr std::uint32_t kRead = 1;
constexpr std::uint32_t kWrite = 2;
constexpr std::uint32_t kHangup = 4;
constexpr Duration kLongestAlarm = std::chrono::hours(24);  // an early alarm is harmless

// On a clock that includes suspend, if the system's timers have one.
#ifdef NOTE_MACH_CONTINUOUS_TIME
constexpr unsigned kTimer = NOTE_NSECONDS | NOTE_MACH_CONTINUOUS_TIME;
#else
constexpr unsigned kTimer = NOTE_NSECONDS;
#endif

static_assert(sizeof(void*) == sizeof(std::uint64_t), "the kernel keeps a token as a pointer");

struct kevent event(std::uint64_t ident, int filter, unsigned flags, unsigned notes,
                    std::int64_t data = 0) {
  struct kevent made {};
  made.ident = static_cast<decltype(made.ident)>(ident);
  made.filter = static_cast<decltype(made.filter)>(filter);
  made.flags = static_cast<decltype(made.flags)>(flags);
  made.fflags = notes;
  made.data = static_cast<decltype(made.data)>(data);
  return made;
}

// One change at a time: the kernel stops at the first that it refuses.
bool submit(const Descriptor& queue, const struct kevent& change) {
  return ::kevent(queue.get(), &change, 1, nullptr, 0, nullptr) == 0;
}

bool remove(const Descriptor& queue, int fd, int filter) {
  return submit(queue, event(static_cast<std::uint64_t>(fd), filter, EV_DELETE, 0)) ||
         errno == ENOENT;
}

// Level-triggered, as epoll's are.
bool watch_for(const Descriptor& queue, int fd, int filter, std::uint64_t token, bool end_only) {
  // The end of a stream is reported regardless of the low-water mark.
  struct kevent change =
      event(static_cast<std::uint64_t>(fd), filter, EV_ADD | EV_ENABLE, end_only ? NOTE_LOWAT : 0U,
            end_only ? std::numeric_limits<int>::max() : 0);
  change.udata = reinterpret_cast<void*>(token);
  return submit(queue, change);
}

}  // namespace

Poller::Poller() : queue_(make_readable_set()) {
  // EV_CLEAR: each wake-up is reported once.
  if (submit(queue_, event(kWakeToken, EVFILT_USER, EV_ADD | EV_CLEAR, 0))) return;
  throw LimitReached("kqueue", errno);
}

std::uint32_t Poller::events_of(const Interest& interest) {
  return (interest.read ? kRead : 0U) | (interest.write ? kWrite : 0U) |
         (interest.hangup ? kHangup : 0U);
}

bool Poller::apply(const Watch& watch, Change change) {
  const std::uint32_t events = change == Change::kRemove ? 0U : watch.events;
  const bool read = (events & kRead) != 0;
  const bool applied_read = read || (events & kHangup) != 0
                                ? watch_for(queue_, watch.fd, EVFILT_READ, watch.token, !read)
                                : remove(queue_, watch.fd, EVFILT_READ);
  const bool applied_write = (events & kWrite) != 0
                                 ? watch_for(queue_, watch.fd, EVFILT_WRITE, watch.token, false)
                                 : remove(queue_, watch.fd, EVFILT_WRITE);
  return applied_read && applied_write;
}

void Poller::set_alarm(Duration delay) {
  const Duration wait = std::clamp(delay, Duration(1), kLongestAlarm);
  submit(queue_, event(kAlarmToken, EVFILT_TIMER, EV_ADD | EV_ONESHOT, kTimer, wait.count()));
}

// The kernel removes a closed descriptor from the queue, so an event of an unknown token was
// pending when its watch was dropped.
bool Poller::wait(bool block, std::vector<Watch*>& ready) {
  std::array<struct kevent, kBatch> events;
  const timespec now{0, 0};
  const int count = ::kevent(queue_.get(), nullptr, 0, events.data(),
                             static_cast<int>(events.size()), block ? nullptr : &now);
  bool alarm = false;
  for (int i = 0; i < count; ++i) {
    const struct kevent& one = events[static_cast<std::size_t>(i)];
    alarm = alarm || one.filter == EVFILT_TIMER;
    if (one.filter == EVFILT_TIMER || one.filter == EVFILT_USER) continue;
    const auto found = by_token_.find(reinterpret_cast<std::uint64_t>(one.udata));
    if (found == by_token_.end()) continue;
    // Reading and writing are two events of one watch.
    if (std::find(ready.begin(), ready.end(), found->second) == ready.end()) {
      ready.push_back(found->second);
    }
  }
  return alarm;
}

void Poller::wake() { submit(queue_, event(kWakeToken, EVFILT_USER, 0, NOTE_TRIGGER)); }

namespace {

bool change_readable(int set, int fd, unsigned flags) {
  const struct kevent change = event(static_cast<std::uint64_t>(fd), EVFILT_READ, flags, 0);
  return ::kevent(set, &change, 1, nullptr, 0, nullptr) == 0;
}

}  // namespace

Descriptor make_readable_set() {
  Descriptor set(::kqueue());
  if (!set.open()) throw LimitReached("kqueue", errno);
  ::fcntl(set.get(), F_SETFD, FD_CLOEXEC);
  return set;
}

bool add_readable(int set, int fd) { return change_readable(set, fd, EV_ADD); }

void remove_readable(int set, int fd) { change_readable(set, fd, EV_DELETE); }

}  // namespace holdfast::net

#endif  // __linux__
