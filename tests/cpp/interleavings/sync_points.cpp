#include "interleavings/sync_points.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "interleavings/scheduler.h"
#include "redis/base/futex.h"

namespace holdfast {

namespace interleavings {

TimePoint time_now() { return Scheduler::current()->now(); }

bool comes_true(const pollfd& descriptor) {
  if (descriptor.fd >= 0) {
    pollfd look = descriptor;
    return ::poll(&look, 1, 0) > 0;
  }
  net::Interest interest;
  interest.fd = descriptor.fd;
  interest.read = (descriptor.events & POLLIN) != 0;
  interest.write = (descriptor.events & POLLOUT) != 0;
  interest.hangup = (descriptor.events & POLLRDHUP) != 0;
  return Scheduler::current()->network().ready(interest);
}

namespace {

class Polled final : public Awaited {
 public:
  Polled(const pollfd* descriptors, nfds_t count, TimePoint until)
      : begin_(descriptors), end_(descriptors + count), until_(until) {}
  bool ready() const override { return std::any_of(begin_, end_, comes_true); }
  TimePoint until() const override { return until_; }

 private:
  const pollfd* const begin_;
  const pollfd* const end_;
  const TimePoint until_;
};

class Sleeper final : public Awaited {
 public:
  Sleeper(const FutexWord& word, std::uint32_t bits, TimePoint until)
      : word_(word), bits_(bits), until_(until) {
    all().push_back(this);
  }
  ~Sleeper() override { all().erase(std::find(all().begin(), all().end(), this)); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  bool ready() const override { return woken_; }
  TimePoint until() const override { return until_; }
  void wake(const FutexWord& word, std::uint32_t bits) {
    if (&word == &word_ && (bits & bits_) != 0) woken_ = true;
  }

  static std::vector<Sleeper*>& all() {
    static std::vector<Sleeper*> all;
    return all;
  }

 private:
  const FutexWord& word_;
  const std::uint32_t bits_;
  const TimePoint until_;
  bool woken_ = false;
};

}  // namespace
}  // namespace interleavings

// The kernel compares and sleeps in one step.
void futex_wait(const FutexWord& word, std::uint32_t expected, std::uint32_t bits,
                Duration longest) {
  interleavings::pass("compare", &word);
  if (word.peek() != expected || interleavings::Scheduler::current() == nullptr) return;
  const interleavings::Sleeper sleeper(word, bits, after(interleavings::time_now(), longest));
  interleavings::pass("sleep", &word, sleeper);
}

void futex_wake(const FutexWord& word, std::uint32_t bits) {
  interleavings::pass("wake", &word);
  for (interleavings::Sleeper* const sleeper : interleavings::Sleeper::all()) {
    sleeper->wake(word, bits);
  }
}

int poll_descriptors(pollfd* descriptors, nfds_t count, const timespec& longest) {
  const Duration time = std::chrono::seconds(longest.tv_sec) + Duration(longest.tv_nsec);
  if (interleavings::Scheduler::current() == nullptr) return 0;
  const interleavings::Polled polled(descriptors, count, after(interleavings::time_now(), time));
  interleavings::pass("poll", descriptors, polled);
  int ready = 0;
  for (pollfd* each = descriptors; each != descriptors + count; ++each) {
    each->revents = interleavings::comes_true(*each) ? each->events : short{0};
    if (each->revents != 0) ++ready;
  }
  return ready;
}

}  // namespace holdfast
