// The plain path of the other kinds of locks: what their replies mean.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "sync/plain_lock_fixture.h"

namespace holdfast::sync {
namespace {

TEST(PlainKinds, AreThoseWithoutAQueueOnTheServer) {
  for (const LockKind& kind : kLockKinds) {
    const bool expected = kind.word != "fair_lock";
    EXPECT_EQ(kind.recipe().plain(), expected) << kind.word;
  }
}

class PlainReadLockTest : public PlainLockFixture {
 protected:
  PlainReadLockTest() : PlainLockFixture(read_lock_recipe(), Side::kRead) {}
};

class PlainWriteLockTest : public PlainLockFixture {
 protected:
  PlainWriteLockTest() : PlainLockFixture(write_lock_recipe(), Side::kWrite) {}
};

class PlainFencedLockTest : public PlainLockFixture {
 protected:
  PlainFencedLockTest() : PlainLockFixture(fenced_lock_recipe(), Side::kWhole, "$1\r\n1\r\n") {}
};

std::string pair_of(const LockRecipe& recipe, const LockName& name) {
  std::string commands;
  script::Writer writer(commands, false, "publish");
  recipe.acquire(writer, {name, "client:7", 1, kLease.time});
  recipe.release(writer, {name, "client:7"});
  return commands;
}

TEST_F(PlainReadLockTest, AGrantAndAReleaseAreOneCommandEach) {
  script.replies = {kGranted, kReleased};
  acquire();
  EXPECT_TRUE(plain());
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  EXPECT_EQ(keeper().count(LockName(name.bytes(), Side::kWrite), kAlice), 0);
  release();
  EXPECT_TRUE(plain());
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_TRUE(keeper().idle());
  EXPECT_EQ(script.got, pair_of(recipe, name));
}

TEST_F(PlainReadLockTest, AReleaseBesideOtherReadersIsPlain) {
  script.replies = {kGranted, ":0\r\n"};
  acquire();
  release();
  EXPECT_TRUE(plain());
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(PlainReadLockTest, ReadersDoNotYieldToThoseWhoHeard) {
  script.replies = {kGranted, ":2\r\n"};
  acquire();
  release();
  EXPECT_TRUE(plain());
  const std::string channel = recipe.channel(name, {}).bytes();
  EXPECT_LE(context->waits->holds_back(channel), script.clock.now());
}

TEST_F(PlainReadLockTest, WhereAWriterOfThisClientWaitsItIsNotPlain) {
  script.replies = {kGranted};
  acquire();
  const AcquireRequest request{LockName(name.bytes(), Side::kWrite), kBob, kLease};
  const auto writer = std::make_shared<AcquireOperation>(context, write_lock_recipe(), request);
  const std::string channel = recipe.channel(name, {}).bytes();
  (void)context->waits->join(channel, writer, std::nullopt);
  release();
  EXPECT_FALSE(waited);
  acquire(kBob);
  EXPECT_FALSE(waited);
  (void)context->waits->leave(channel, *writer, wait::LeaveReason::kGaveUp, kNever);
}

TEST_F(PlainReadLockTest, AHoldThatIsGoneIsLostByItsRelease) {
  script.replies = {kGranted, kGranted};
  acquire();
  release();
  EXPECT_EQ(verdict(), Verdict::kGone);
  EXPECT_TRUE(keeper().lost(name, kAlice));
}

TEST_F(PlainWriteLockTest, AGrantAndAReleaseAreOneCommandEach) {
  script.replies = {kGranted, kReleased};
  acquire();
  EXPECT_TRUE(plain());
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  release();
  EXPECT_TRUE(plain());
  EXPECT_TRUE(keeper().idle());
  EXPECT_EQ(script.got, pair_of(recipe, name));
}

TEST_F(PlainWriteLockTest, AReleaseThatLeavesReadHoldsIsPlain) {
  script.replies = {kGranted, ":0\r\n"};
  acquire();
  release();
  EXPECT_TRUE(plain());
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(PlainWriteLockTest, AReleaseThatOthersHeardOfYieldsToThem) {
  script.replies = {kGranted, ":2\r\n"};
  acquire();
  release();
  EXPECT_EQ(verdict(), Verdict::kGranted);
  const std::string channel = recipe.channel(name, {}).bytes();
  EXPECT_GT(context->waits->holds_back(channel), script.clock.now());
}

TEST_F(PlainWriteLockTest, WhatOthersReadIsRefused) {
  script.replies = {":2000\r\n"};
  acquire();
  EXPECT_EQ(verdict(), Verdict::kBusy);
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(PlainFencedLockTest, AGrantBringsItsToken) {
  script.replies = {"$2\r\n17\r\n", kReleased};
  acquire();
  EXPECT_TRUE(plain());
  EXPECT_EQ(keeper().token(name, kAlice), 17);
  release();
  EXPECT_TRUE(plain());
  EXPECT_TRUE(keeper().idle());
  EXPECT_EQ(script.got, pair_of(recipe, name));
}

TEST_F(PlainFencedLockTest, ATokenCutInTwoIsOne) {
  script.replies = {"$2\r\n1", "7\r\n"};
  acquire();
  EXPECT_TRUE(plain());
  EXPECT_EQ(keeper().token(name, kAlice), 17);
}

TEST_F(PlainFencedLockTest, AnErrorIsNoToken) {
  script.replies = {"-WRONGTYPE no hash\r\n"};
  acquire();
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_EQ(waited->outcome->why.code(), Code::kServer);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(PlainFencedLockTest, HeldByAnotherTheMachineGoesOn) {
  script.replies = {":2000\r\n"};
  acquire();
  EXPECT_EQ(verdict(), Verdict::kBusy);
  EXPECT_EQ(keeper().token(name, kAlice), std::nullopt);
}

TEST_F(PlainFencedLockTest, AGrantThatComesAfterItsLeaseIsGivenBack) {
  script.on_reading = [this] { script.clock.advance(kLease.time); };
  script.replies = {"$2\r\n17\r\n", kReleased};
  acquire();
  EXPECT_EQ(verdict(), Verdict::kExpired);
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_EQ(script.count("client:7"), 2);
}

}  // namespace
}  // namespace holdfast::sync
