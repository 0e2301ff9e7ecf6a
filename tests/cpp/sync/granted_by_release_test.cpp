// A grant by another client's release: when it is believed, and what follows where it is not.

#include "sync/acquire_machine_fixture.h"

namespace holdfast::sync {
namespace {

constexpr Millis kLease{2000};
constexpr std::int64_t kPlace = 41;

class GrantedByReleaseTest : public AcquireMachineTest {
 protected:
  GrantedByReleaseTest() {
    begun.in_line = true;
    wait(true);
  }
  // A waiter with a lease that is renewed, or a fixed one.
  void wait(bool renewed) {
    AcquireMachine::Options options;
    options.lease = Millis(30000);
    options.believes_grants = renewed;
    options.deadline = at(9000);
    begin(options);
    now = 0;
    EXPECT_EQ(start(), "try");
  }
  std::string refused_with_place(std::int64_t place) {
    return resume({Kind::kAnswer, {Answer::Kind::kHeld, Millis(1000), place}, kNever});
  }
  std::string grant(std::int64_t place) {
    AcquireMachine::Event event{Kind::kGrant};
    event.grant = {OwnerNumber{1}, place, kLease, 7};
    const std::string wanted = resume(event);
    return last().verb == Verb::kTry ? wanted + ", " + resume(begun) : wanted;
  }
};

TEST_F(GrantedByReleaseTest, IsKeptForItsLeaseFromBeforeTheAttempt) {
  now = 3;
  EXPECT_EQ(refused_with_place(kPlace), "join until 1005");
  now = 50;
  EXPECT_EQ(grant(kPlace), "keep");
  EXPECT_EQ(last().sent, at(0));
  EXPECT_EQ(last().given, kLease);
  EXPECT_EQ(last().count, 1);
  EXPECT_EQ(last().value, 7);
  EXPECT_EQ(last().grant_used, true);
  EXPECT_EQ(resume({Kind::kKept}), "granted");
  EXPECT_EQ(last().until, at(50 + 2000));  // the next head does not sleep for the whole lease
}

TEST_F(GrantedByReleaseTest, OfAnEarlierPlaceIsAReasonToTry) {
  EXPECT_EQ(refused_with_place(kPlace), "join until 1002");
  EXPECT_EQ(grant(kPlace - 1), "try until 9000, send");
}

// Its hold would end before the first renewal is answered.
TEST_F(GrantedByReleaseTest, IsAReasonToTryOnceHalfOfItsLeaseMayBeOver) {
  EXPECT_EQ(refused_with_place(kPlace), "join until 1002");
  now = 988;  // half of the lease less 1 % and 2 ms
  EXPECT_EQ(grant(kPlace), "try until 9000, send");
}

TEST_F(GrantedByReleaseTest, BeforeTheReplyCountsWithTheReply) {
  EXPECT_EQ(grant(kPlace), "go on");
  EXPECT_EQ(last().grant_used, std::nullopt);
  EXPECT_EQ(refused_with_place(kPlace), "keep");
  EXPECT_EQ(last().grant_used, true);
}

TEST_F(GrantedByReleaseTest, IsCountedAsUnusedWhereAnAttemptFoundTheLock) {
  EXPECT_EQ(grant(kPlace), "go on");
  EXPECT_EQ(resume({Kind::kAnswer, {Answer::Kind::kGranted, Millis(0)}, at(1978)}), "keep");
  EXPECT_EQ(last().grant_used, false);
}

TEST_F(GrantedByReleaseTest, BeforeTheReplyOfAnotherPlaceMakesItTryAgain) {
  EXPECT_EQ(grant(kPlace), "go on");
  EXPECT_EQ(refused_with_place(kPlace + 1), "try until 9000");
}

TEST_F(GrantedByReleaseTest, ForAFixedLeaseIsAReasonToTry) {
  wait(false);
  EXPECT_EQ(refused_with_place(kPlace), "join until 1002");
  EXPECT_EQ(grant(kPlace), "try until 9000, send");
}

TEST_F(GrantedByReleaseTest, AWaiterThatLeavesGivesThePlaceBack) {
  EXPECT_EQ(refused_with_place(kPlace), "join until 1002");
  EXPECT_EQ(resume({Kind::kCancel}), "cancelled, give back");
}

TEST_F(GrantedByReleaseTest, AfterTheEndIsIgnored) {
  EXPECT_EQ(refused_with_place(kPlace), "join until 1002");
  EXPECT_EQ(resume({Kind::kCancel}), "cancelled, give back");
  EXPECT_EQ(grant(kPlace), "go on");
  EXPECT_EQ(last().grant_used, false);
}

}  // namespace
}  // namespace holdfast::sync
