#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <utility>

#include "redis/base/process.h"
#include "redis/net/event_loop.h"
#include "redis/net/support.h"

namespace holdfast::net {

// Never destroyed, as the engine's: a loop that was destroyed on its thread may end after main().
inline const SystemClock& kClock = *new SystemClock;

inline Interest done() {
  Interest interest;
  interest.done = true;
  return interest;
}

inline Interest until(TimePoint when) {
  Interest interest;
  interest.until = when;
  return interest;
}

inline Interest readable(int fd) {
  Interest interest;
  interest.fd = fd;
  interest.read = true;
  return interest;
}

// A Pollable that follows a script and counts its steps.
class Scripted final : public Pollable {
 public:
  using Script = std::function<Interest(TimePoint now, int step)>;
  explicit Scripted(Script script) : script_(std::move(script)) {}

  Interest step(TimePoint now) override {
    const Interest interest = script_(now, steps_ + 1);
    ++steps_;
    return interest;
  }

  int steps() const { return steps_; }

 private:
  const Script script_;
  std::atomic<int> steps_{0};
};

inline std::shared_ptr<Scripted> scripted(Scripted::Script script) {
  return std::make_shared<Scripted>(std::move(script));
}

inline bool reaches(const Scripted& pollable, int steps) {
  return eventually([&] { return pollable.steps() >= steps; });
}

// Returns when the loop has done all earlier requests.
inline void settle(EventLoop& loop) {
  for (int i = 0; i < 3; ++i) {
    std::promise<void> reached;
    loop.post([&reached] { reached.set_value(); });
    reached.get_future().wait();
  }
}

struct SocketPair {
  SocketPair() {
    int fds[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0) {
      throw std::runtime_error("socketpair");
    }
    near = Descriptor(fds[0]);
    far = Descriptor(fds[1]);
  }
  void send() const { ASSERT_EQ(write(far.get(), "x", 1), 1); }
  bool receive() const {
    char byte = 0;
    return read(near.get(), &byte, 1) == 1;
  }

  Descriptor near;
  Descriptor far;
};

}  // namespace holdfast::net
