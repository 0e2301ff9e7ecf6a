// A poll without a descriptor to be woken by.

#include "redis/client/poll_for.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace holdfast::client {
namespace {

constexpr Duration kLong = std::chrono::seconds(60);

// A socket, and then no descriptor is left in the process.
class PollForTest : public ::testing::Test {
 protected:
  PollForTest() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    Parker::keep_descriptors(false);
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit none = before_;
    const int next = ::dup(ends[0]);
    ::close(next);
    none.rlim_cur = static_cast<rlim_t>(next);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~PollForTest() override {
    ::setrlimit(RLIMIT_NOFILE, &before_);
    Parker::keep_descriptors(true);
    for (const int fd : ends) ::close(fd);
  }

  net::Interest readable() const { return {ends[0], true}; }

  std::array<int, 2> ends{};
  Parker parker;
  const SystemClock clock;
  const TimePoint begun = clock.now();

 private:
  rlimit before_{};
};

TEST_F(PollForTest, ANotificationEndsIt) {
  std::thread other([this] { parker.notify(); });
  EXPECT_FALSE(poll_for(readable(), parker, kLong));
  other.join();
  EXPECT_LT(clock.now(), begun + kLong);
}

TEST_F(PollForTest, ItsDeadlineEndsIt) {
  constexpr Duration kShort = Millis(25);
  EXPECT_FALSE(poll_for(readable(), parker, kShort));
  EXPECT_GE(clock.now(), begun + kShort);
}

TEST_F(PollForTest, WhatComesEndsIt) {
  std::thread other([this] { EXPECT_EQ(::write(ends[1], "x", 1), 1); });
  EXPECT_TRUE(poll_for(readable(), parker, kLong));
  other.join();
}

}  // namespace
}  // namespace holdfast::client
