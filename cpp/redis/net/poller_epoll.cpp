#ifdef __linux__

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>
#include <utility>

#include "redis/base/process.h"
#include "redis/net/poller.h"

namespace holdfast::net {
namespace {

constexpr std::uint64_t kWakeToken = 0;
constexpr std::uint64_t kAlarmToken = 1;
constexpr std::size_t kBatch = 64;
constexpr auto kRefusedPause = std::chrono::milliseconds(5);
constexpr std::uint64_t kRefused = ~std::uint64_t{0};  // no Descriptor's: update() adds anew

Descriptor checked(Descriptor made, const char* what) {
  if (!made.open()) throw LimitReached(what, errno);
  return made;
}

Descriptor make_timer() {
#ifdef CLOCK_BOOTTIME
  Descriptor timer(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (timer.open() || errno != EINVAL) return timer;
#endif
  return Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
}

}  // namespace

Poller::Poller()
    : epoll_(make_readable_set()),
      wake_(checked(make_wake_up(), "eventfd")),
      alarm_(checked(make_timer(), "timerfd_create")) {
  if (!listen(epoll_)) throw LimitReached("epoll_ctl", errno);
}

// Edge-triggered: each wake-up is reported once without a read() to clear it.
bool Poller::listen(const Descriptor& epoll) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = kWakeToken;
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) return false;
  event.data.u64 = kAlarmToken;
  return epoll_ctl(epoll.get(), EPOLL_CTL_ADD, alarm_.get(), &event) == 0;
}

std::uint32_t Poller::events_of(const Interest& interest) {
  return (interest.read ? EPOLLIN : 0U) | (interest.write ? EPOLLOUT : 0U) |
         (interest.hangup ? EPOLLRDHUP : 0U);
}

bool Poller::apply(const Watch& watch, Change change) {
  const int operation = change == Change::kAdd      ? EPOLL_CTL_ADD
                        : change == Change::kModify ? EPOLL_CTL_MOD
                                                    : EPOLL_CTL_DEL;
  epoll_event event{};
  event.events = watch.events;
  event.data.u64 = watch.token;
  return epoll_ctl(epoll_.get(), operation, watch.fd, &event) == 0;
}

void Poller::set_alarm(Duration delay) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(delay);
  itimerspec setting{};
  setting.it_value.tv_sec = whole.count();
  setting.it_value.tv_nsec = std::max<Duration::rep>((delay - whole).count(), whole.count() == 0);
  timerfd_settime(alarm_.get(), 0, &setting, nullptr);
}

bool Poller::wait(bool block, std::vector<Watch*>& ready) {
  std::array<epoll_event, kBatch> events;
  const int count =
      epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), block ? -1 : 0);
  bool alarm = false;
  bool stale = false;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t token = events[static_cast<std::size_t>(i)].data.u64;
    alarm = alarm || token == kAlarmToken;
    if (token == kWakeToken || token == kAlarmToken) continue;
    const auto found = by_token_.find(token);
    if (found == by_token_.end()) {
      stale = true;
    } else {
      ready.push_back(found->second);
    }
  }
  if (stale) rebuild(block, ready);
  return alarm;
}

// A descriptor that was closed here, but is still open in a child of fork(), stays in the kernel's
// set, reports events, and can no longer be removed: so a new set is made. Where the system refuses
// one, the next such event, which is there at once, tries again.
void Poller::rebuild(bool may_pause, std::vector<Watch*>& ready) {
  Descriptor fresh(epoll_create1(EPOLL_CLOEXEC));
  if (!fresh.open() || !listen(fresh)) {
    if (may_pause && ready.empty()) std::this_thread::sleep_for(kRefusedPause);
    return;
  }
  epoll_ = std::move(fresh);
  for (const auto& [token, watch] : by_token_) {
    if (apply(*watch, Change::kAdd)) continue;
    watch->serial = kRefused;
    ready.push_back(watch);
  }
}

void Poller::wake() { holdfast::wake(wake_.get()); }

Descriptor make_readable_set() {
  return checked(Descriptor(epoll_create1(EPOLL_CLOEXEC)), "epoll_create1");
}

bool add_readable(int set, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  return ::epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

void remove_readable(int set, int fd) { ::epoll_ctl(set, EPOLL_CTL_DEL, fd, nullptr); }

}  // namespace holdfast::net

#endif  // __linux__
