#include "guard/thread_loop.h"

#include <poll.h>

#include <algorithm>

#include "net/sockets.h"

namespace holdfast::guard {

namespace {

// poll() does not count the time of a suspended machine.
constexpr Millis kLongest{1000};

short events_of(const net::Interest& interest) {
  return static_cast<short>((interest.read ? POLLIN : 0) | (interest.write ? POLLOUT : 0) |
                            (interest.hangup ? net::kPollHangUp : 0));
}

}  // namespace

void ThreadLoop::drive(std::shared_ptr<net::Pollable> pollable) {
  net::Pollable* const which = pollable.get();
  all_.try_emplace(which, Driven{std::move(pollable)}).first->second.due = true;
}

void ThreadLoop::step(TimePoint until) {
  await(until);
  std::vector<std::shared_ptr<net::Pollable>> due;
  for (auto& [which, driven] : all_) {
    if (driven.due) due.push_back(driven.pollable);
    driven.due = false;
  }
  for (const auto& each : due) {
    const net::Interest next = each->step(clock_.now());
    const auto found = all_.find(each.get());
    found->second.interest = next;
    if (next.done && !found->second.due) all_.erase(found);
  }
}

void ThreadLoop::await(TimePoint until) {
  std::vector<pollfd> waited;
  std::vector<Driven*> waiting;
  const TimePoint now = clock_.now();
  until = std::min(until, after(now, kLongest));
  for (auto& [which, driven] : all_) {
    until = std::min(until, driven.due ? now : driven.interest.until);
    if (driven.interest.fd < 0) continue;
    waited.push_back({driven.interest.fd, events_of(driven.interest), 0});
    waiting.push_back(&driven);
  }
  const auto left = std::chrono::ceil<Millis>(std::max<Duration>(until - now, Duration::zero()));
  const int ready = poll(waited.data(), waited.size(), static_cast<int>(left.count()));
  for (std::size_t i = 0; ready > 0 && i < waited.size(); ++i) {
    if (waited[i].revents != 0) waiting[i]->due = true;
  }
  const TimePoint woken = clock_.now();
  for (auto& [which, driven] : all_) {
    if (driven.interest.until <= woken) driven.due = true;
  }
}

}  // namespace holdfast::guard
