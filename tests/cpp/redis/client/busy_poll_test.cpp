// When a reader looks for a reply before it sleeps.

#include "redis/client/busy_poll.h"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::client {
namespace {

using std::chrono::microseconds;

// A machine on which a sleep and a look take that long until the reply.
class BusyPollTest : public ::testing::Test {
 protected:
  // One reading; returns whether it looked.
  bool read() {
    if (!poll.measures()) return false;
    const bool looks = poll.looks();
    const bool found = looks && look <= BusyPoll::kLook;
    poll.measured({looks ? (found ? look : look + sleep) : sleep, found, looks && held_up});
    return looks;
  }
  int looks_in(int readings) {
    int looks = 0;
    for (int i = 0; i < readings; ++i) looks += read() ? 1 : 0;
    return looks;
  }

  BusyPoll poll{true};
  Duration sleep = microseconds(150);
  Duration look = microseconds(60);
  bool held_up = false;
};

TEST_F(BusyPollTest, LooksThatAreQuickerAreTheRule) {
  looks_in(100);
  EXPECT_GT(looks_in(10'000), 9'500);
}

TEST_F(BusyPollTest, LooksThatAreNotQuickerAreTriedEverMoreSeldom) {
  look = microseconds(140);  // a gain that the CPU is not worth
  EXPECT_GT(looks_in(100), 0);
  looks_in(20'000);
  EXPECT_LT(looks_in(10'000), 100);
}

TEST_F(BusyPollTest, AServerThatIsFartherAwayThanALookIsSleptFor) {
  sleep = look = microseconds(1000);
  EXPECT_EQ(looks_in(100), 8) << "a second run of looks would be in vain";
  looks_in(20'000);
  EXPECT_LT(looks_in(10'000), 40);
}

TEST_F(BusyPollTest, LooksEndAtOnceWhenTheCpuIsTakenFromOne) {
  looks_in(100);
  ASSERT_TRUE(read());
  held_up = true;
  EXPECT_TRUE(read());
  EXPECT_EQ(looks_in(127), 0);
}

TEST_F(BusyPollTest, LooksEndWhenTheyBecomeSlow) {
  looks_in(100);
  ASSERT_TRUE(read());
  look = microseconds(170);
  EXPECT_LE(looks_in(128), 64);
}

TEST_F(BusyPollTest, SleepsThatBecomeShortAreFound) {
  looks_in(100);
  ASSERT_TRUE(read());
  sleep = microseconds(50);
  looks_in(2'000);
  EXPECT_LT(looks_in(1'000), 50);
}

TEST_F(BusyPollTest, LooksThatBecomeQuickerAreFound) {
  held_up = true;
  looks_in(20'000);
  held_up = false;
  looks_in(5'000);
  EXPECT_GT(looks_in(1'000), 900);
}

TEST_F(BusyPollTest, WhereItMayNotLookNothingIsMeasured) {
  poll = BusyPoll(false);
  EXPECT_FALSE(poll.measures());
  EXPECT_EQ(looks_in(10'000), 0);
}

}  // namespace
}  // namespace holdfast::client
