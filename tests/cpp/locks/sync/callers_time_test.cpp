// The time that the caller of an acquisition gives it.

#include "locks/sync/operation/callers_time.h"

#include <gtest/gtest.h>

namespace holdfast::sync {
namespace {

constexpr TimePoint kBegun{std::chrono::hours(1)};
// A quarter of a second is promised.
constexpr Millis kPromised{250};

TEST(CallersTimeTest, AWaitEndsAMomentAfterItsDeadlineAtTheLatest) {
  const CallersTime time(true, Millis(1000), kBegun);
  EXPECT_EQ(time.deadline(), kBegun + Millis(1000));
  EXPECT_GT(time.latest(), time.deadline());
  EXPECT_LT(time.latest(), time.deadline() + kPromised);
}

TEST(CallersTimeTest, WhereThereIsNoServerTheLastAttemptToConnectIsAnsweredInTime) {
  const CallersTime time(true, Millis(1000), kBegun);
  EXPECT_GT(time.connect_deadline(), time.deadline());
  EXPECT_LT(time.connect_deadline(), time.latest());
}

TEST(CallersTimeTest, ATryHasTheTimeOfACommandAndLittleForAServerThatIsAbsent) {
  const CallersTime time(false, Duration{}, kBegun);
  EXPECT_EQ(time.latest(), kNever);
  EXPECT_EQ(time.connect_deadline(), kBegun + kPromised);
}

TEST(CallersTimeTest, AWaitWithoutLimitHasNone) {
  const CallersTime time(true, kNever - TimePoint{}, kBegun);
  EXPECT_EQ(time.deadline(), kNever);
  EXPECT_EQ(time.latest(), kNever);
  EXPECT_EQ(time.connect_deadline(), kNever);
}

TEST(CallersTimeTest, AnAttemptOfAMemberEndsWithItsCallersTime) {
  const CallersTime whole(true, Millis(1000), kBegun);
  const CallersTime attempt(false, Duration{}, kBegun + Millis(900));
  EXPECT_EQ(attempt.within(whole.latest()).latest(), whole.latest());
  EXPECT_EQ(whole.within(kNever).latest(), whole.latest());
}

TEST(CallersTimeTest, TheErrorNamesTheLockTheSecondsAndTheServer) {
  const CallersTime time(true, Millis(1500), kBegun);
  const Status why = time.late("orders", Status::unreachable("no reply from 10.0.0.1:6379"));
  EXPECT_EQ(why.message(), "'orders': no answer within 1.5 s: no reply from 10.0.0.1:6379");
  EXPECT_EQ(why.code(), Code::kUnreachable);
}

}  // namespace
}  // namespace holdfast::sync
