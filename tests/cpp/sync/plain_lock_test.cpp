// The plain path of a lock, and each way off it.

#include "sync/plain_lock.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <optional>
#include <string>

#include "sync/plain_lock_fixture.h"

namespace holdfast::sync {
namespace {

class PlainLockTest : public PlainLockFixture {};

TEST_F(PlainLockTest, AGrantAndAReleaseAreOneCommandEach) {
  script.replies = {kGranted, kReleased};
  acquire();
  EXPECT_TRUE(plain());
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  release();
  EXPECT_TRUE(plain());
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_TRUE(keeper().idle());
  std::string expected;
  script::Writer writer(expected, false, "publish");
  lock_recipe().acquire(writer, {name, "client:7", 1, kLease.time});
  lock_recipe().release(writer, {name, "client:7"});
  EXPECT_EQ(script.got, expected);
}

TEST_F(PlainLockTest, EachOwnerHasItsField) {
  script.replies = {kGranted, kReleased, kGranted};
  acquire(kAlice);
  release(kAlice);
  acquire(kBob);
  EXPECT_EQ(script.count("client:7"), 2);
  EXPECT_EQ(script.count("client:8"), 1);
  EXPECT_EQ(keeper().count(name, kBob), 1);
}

TEST_F(PlainLockTest, ItIsAmongTheFigures) {
  const auto acquired = total(Stats::Counter::kAcquired);
  const auto commands = total(Stats::Counter::kCommands);
  script.replies = {kGranted, kReleased};
  acquire();
  release();
  EXPECT_EQ(total(Stats::Counter::kAcquired), acquired + 1);
  EXPECT_EQ(total(Stats::Counter::kCommands), commands);  // those are the connection's client's
}

TEST_F(PlainLockTest, HeldByAnotherTheMachineGoesOn) {
  script.replies = {":2000\r\n"};
  acquire();
  EXPECT_EQ(verdict(), Verdict::kBusy);
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(PlainLockTest, ANestedHoldIsNotPlain) {
  script.replies = {kGranted};
  acquire();
  acquire();
  EXPECT_FALSE(waited);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(PlainLockTest, OfTwoHoldsNoReleaseIsPlain) {
  script.replies = {kGranted};
  acquire();
  lease::Attempt attempt(keeper(), name, kAlice);
  EXPECT_TRUE(attempt.begin());
  EXPECT_TRUE(
      keeper().granted({name, kAlice, 2, kLease, script.clock.now(), &lock_recipe()}, attempt));
  release();
  EXPECT_FALSE(waited);
  EXPECT_EQ(keeper().count(name, kAlice), 2);
}

TEST_F(PlainLockTest, AnExceptionLeavesNothingBehind) {
  script.on_writing = [] { throw std::bad_alloc(); };
  EXPECT_THROW(acquire(), std::bad_alloc);
  script.on_writing = nullptr;
  EXPECT_FALSE(keeper().acquiring());
  EXPECT_FALSE(keeper().under_way(name, kAlice));
  EXPECT_EQ(keeper().count(name, kAlice), 0);
}

TEST_F(PlainLockTest, WhileItsOwnerIsAcquiringItIsNotPlain) {
  script.replies = {kGranted};
  {
    lease::Attempt attempt(keeper(), name, kAlice);
    EXPECT_TRUE(attempt.begin());
    acquire();
    EXPECT_FALSE(waited);
    release();
    EXPECT_FALSE(waited);
    release_deferred();
    EXPECT_FALSE(waited);
    acquire(kBob);
    EXPECT_TRUE(plain());
  }
  EXPECT_FALSE(keeper().acquiring());
}

TEST_F(PlainLockTest, AReleaseThatComesBackDoesNotGoBehindANewerHold) {
  script.replies = {kGranted};
  acquire();
  script.replies = {"-NOSCRIPT no such script\r\n"};
  script.on_writing = [this] {  // as a signal handler would
    script.on_writing = nullptr;
    lease::Attempt attempt(keeper(), name, kAlice);
    EXPECT_TRUE(attempt.begin());
    (void)keeper().begin_attempt(name, kAlice);
    EXPECT_TRUE(
        keeper().granted({name, kAlice, 1, kLease, script.clock.now(), &lock_recipe()}, attempt));
  };
  script.got.clear();
  release();
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  EXPECT_EQ(script.got.find("EVAL\r\n"), std::string::npos);
}

TEST_F(PlainLockTest, WhereOthersWaitItIsNotPlain) {
  script.replies = {kGranted};
  acquire();
  const AcquireRequest request{name, kBob, kLease};
  const auto other = std::make_shared<AcquireOperation>(context, lock_recipe(), request);
  const std::string channel = lock_recipe().channel(name, {}).bytes();
  (void)context->waits->join(channel, other, std::nullopt);
  release();
  EXPECT_FALSE(waited);
  (void)context->waits->leave(channel, *other, wait::LeaveReason::kGaveUp, kNever);
}

TEST_F(PlainLockTest, WithAReleasePendingAnAttemptIsNotPlain) {
  script.replies = {kGranted};
  acquire();
  (void)keeper().begin_release(name, kAlice, false);
  acquire();
  EXPECT_FALSE(waited) << "an attempt takes over what is pending of its owner";
}

TEST_F(PlainLockTest, AServerThatDoesNotKnowTheScriptGetsItsText) {
  script.replies = {"-NOSCRIPT No matching script.\r\n", kGranted};
  acquire();
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_GE(script.count("\r\nEVAL\r\n"), 1);
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(PlainLockTest, AGrantThatComesAfterItsLeaseIsGivenBack) {
  script.on_reading = [this] { script.clock.advance(kLease.time); };
  script.replies = {kGranted, kReleased};
  acquire();
  EXPECT_EQ(verdict(), Verdict::kExpired);
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_EQ(script.count("client:7"), 2);
}

TEST_F(PlainLockTest, AReplyCutInTwoIsAGrant) {
  script.replies = {"$-", "1\r\n"};
  acquire();
  EXPECT_TRUE(plain());
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(PlainLockTest, AnInterruptedAttemptIsTakenBackBehindItself) {
  Impatient impatient;
  acquire(kAlice, &impatient);
  ASSERT_TRUE(waited->exchange);
  EXPECT_FALSE(waited->outcome);
  EXPECT_EQ(script.count("client:7"), 2);
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_FALSE(keeper().idle()) << "the release is pending";
}

TEST_F(PlainLockTest, AnInterruptedReleaseStaysPendingUntilItsReply) {
  script.replies = {kGranted};
  acquire();
  Impatient impatient;
  release(kAlice, &impatient);
  EXPECT_FALSE(waited->outcome);
  EXPECT_FALSE(keeper().idle());
  script.replies = {kReleased, ":2000\r\n"};
  acquire(kBob);  // reads for both
  EXPECT_EQ(verdict(), Verdict::kBusy);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(PlainLockTest, AClosingClientGivesTheGrantBack) {
  script.on_reading = [this] { keeper().begin_close([] {}); };
  script.replies = {kGranted, kReleased};
  acquire();
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_EQ(waited->outcome->why.code(), Code::kClosed);
  EXPECT_EQ(script.count("client:7"), 2);
}

TEST_F(PlainLockTest, ClosedMeanwhileAnAttemptFails) {
  script.on_reading = [this] { context->topology->close(Status::closed("closed")); };
  script.replies = {""};
  acquire();
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_EQ(waited->outcome->why.code(), Code::kClosed);
}

TEST_F(PlainLockTest, AHoldThatIsGoneIsLostByItsRelease) {
  script.replies = {kGranted, kGranted};
  acquire();
  release();
  EXPECT_EQ(verdict(), Verdict::kGone);
  EXPECT_TRUE(keeper().lost(name, kAlice));
}

TEST_F(PlainLockTest, AHoldThatRanOutIsNotReleasedPlainly) {
  script.replies = {kGranted};
  acquire();
  script.clock.advance(kLease.time);
  release();
  EXPECT_FALSE(waited) << "the caller gets an error";
}

TEST_F(PlainLockTest, AReleaseThatOthersHeardOfYieldsToThem) {
  script.replies = {kGranted, ":2\r\n"};
  acquire();
  release();
  EXPECT_EQ(verdict(), Verdict::kGranted);
  const std::string channel = lock_recipe().channel(name, {}).bytes();
  EXPECT_GT(context->waits->holds_back(channel), script.clock.now());
  EXPECT_TRUE(keeper().idle());
}

TEST_F(PlainLockTest, AReleaseWithoutAnAnswerStaysInTheLedger) {
  script.replies = {kGranted};
  acquire();
  script.replies = {};
  release();  // time passes while nothing comes
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_FALSE(keeper().idle());
}

}  // namespace
}  // namespace holdfast::sync
