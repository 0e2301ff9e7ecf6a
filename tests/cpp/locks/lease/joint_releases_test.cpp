// Holds that one command releases, all or none.

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "locks/lease/keeper_fixture.h"

namespace holdfast::lease {
namespace {

class JointReleasesTest : public LeaseKeeperTest {
 protected:
  std::optional<Releases::Lost> begin() { return keeper().releases.begin_together(name, {kAlice}); }
  void end(bool released) { keeper().releases.end_together(name, {kAlice}, released); }
  void remove() { (void)server.execute(Command{{"DEL", name.text()}}); }
};

TEST_F(JointReleasesTest, WhatIsReleasedEndsWithoutALoss) {
  renewed(kAlice);
  ASSERT_FALSE(begin());
  remove();
  end(true);
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  pass(kLease * 5);
  EXPECT_EQ(events, Strings{});
}

TEST_F(JointReleasesTest, ARenewalOnItsWayThatDoesNotFindItIsNoLoss) {
  renewed(kAlice);
  pass(kLease / 2);
  const int before = server.runs("lock/renew");
  keeper().watchdog().verify();
  pass(std::chrono::microseconds(1));  // it is sent, and not yet executed
  ASSERT_EQ(server.runs("lock/renew"), before);
  ASSERT_FALSE(begin());
  remove();
  pass(kLease / 2);
  EXPECT_GT(server.runs("lock/renew"), before);
  EXPECT_EQ(events, Strings{});
}

TEST_F(JointReleasesTest, WhatIsNotReleasedIsRenewedAsBefore) {
  renewed(kAlice);
  ASSERT_FALSE(begin());
  pass(kLease / 2);
  end(false);
  pass(kLease * 5);
  EXPECT_EQ(events, Strings{});
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(JointReleasesTest, WhatIsNotReleasedAndHasALeaseOfItsCallerIsLookedAt) {
  fixed(kAlice, kLease);
  ASSERT_FALSE(begin());
  remove();
  end(false);
  pass(kSoon);
  EXPECT_EQ(keeper().count(name, kAlice), 0) << "it was removed while the answer was on its way";
}

TEST_F(JointReleasesTest, OneThatIsLostIsReportedOnceAndNothingBegins) {
  renewed(kAlice);
  keeper().lose(name, kAlice, "a reason");
  const auto lost = begin();
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->owner, kAlice);
  EXPECT_EQ(lost->reason, "a reason");
  EXPECT_FALSE(begin());
}

}  // namespace
}  // namespace holdfast::lease
