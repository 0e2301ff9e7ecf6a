// Deferred releases by the plain path, and the attempts behind them.

#include "sync/late_release.h"

#include <gtest/gtest.h>

#include <string>

#include "sync/plain_lock_fixture.h"

namespace holdfast::sync {
namespace {

using Kind = lease::Event::Kind;

class LateReleaseTest : public PlainLockFixture {
 protected:
  LateReleaseTest() : connection(context->topology->route(name.bytes(), {})) {}

  // Alice has it, and nothing is to come.
  void hold() {
    script.replies = {kGranted};
    acquire();
    script.got.clear();
  }
  // What lies unread is read by an attempt of another owner, which is refused.
  void read(const std::string& reply) {
    script.replies = {reply + ":2000\r\n"};
    acquire(kBob);
    EXPECT_EQ(verdict(), Verdict::kBusy);
  }
  std::vector<Kind> told() const {
    std::vector<Kind> kinds;
    for (const lease::Event& event : events->all) kinds.push_back(event.kind);
    return kinds;
  }

  const std::shared_ptr<client::Connection> connection;
};

TEST_F(LateReleaseTest, ItIsWrittenAndPending) {
  hold();
  release_deferred();
  EXPECT_TRUE(plain());
  EXPECT_EQ(keeper().count(name, kAlice), 0);
  EXPECT_FALSE(keeper().idle());
  std::string expected;
  script::Writer writer(expected, false, "publish");
  recipe.release(writer, {name, "client:7"});
  EXPECT_EQ(script.got, expected);
  read(kReleased);
  EXPECT_TRUE(keeper().idle());
  EXPECT_TRUE(told().empty());
}

TEST_F(LateReleaseTest, ItsReplyMayLieUnread) {
  hold();
  release_deferred();
  script.replies = {kReleased};
  (void)connection->step(script.clock.now());
  EXPECT_EQ(script.replies.size(), 1U) << "the loop need not read it at once";
  script.clock.advance(Millis(5));
  (void)connection->step(script.clock.now());
  EXPECT_TRUE(keeper().idle());
}

TEST_F(LateReleaseTest, ThenItsOwnerHoldsNothing) {
  hold();
  release_deferred();
  release();
  EXPECT_FALSE(waited);
  release_deferred();
  EXPECT_FALSE(waited);
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict,
            lease::ReleasePlan::Verdict::kNotOwned);
}

TEST_F(LateReleaseTest, TheNextAttemptIsPlainAndTakesItOver) {
  hold();
  const auto released = total(Stats::Counter::kReleased);
  for (int i = 0; i < 3; ++i) {
    release_deferred();
    script.replies = {kReleased + kGranted};
    acquire();
    EXPECT_TRUE(plain());
    EXPECT_EQ(keeper().count(name, kAlice), 1);
  }
  EXPECT_EQ(total(Stats::Counter::kReleased), released);
  release_deferred();
  read(kReleased);
  EXPECT_TRUE(keeper().idle());
  EXPECT_TRUE(told().empty());
}

TEST_F(LateReleaseTest, ARefusedAttemptSettlesItToo) {
  hold();
  release_deferred();
  script.replies = {kReleased + ":2000\r\n"};
  acquire();
  EXPECT_EQ(verdict(), Verdict::kBusy);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(LateReleaseTest, AnAttemptWithoutAnAnswerKeepsIt) {
  hold();
  release_deferred();
  Impatient impatient;
  acquire(kAlice, &impatient);
  EXPECT_FALSE(waited->outcome);
  EXPECT_FALSE(keeper().idle()) << "the attempt is taken back";
  EXPECT_EQ(script.count("client:7"), 3);
  read(kReleased + kGranted + kReleased);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(LateReleaseTest, ALossIsToldByAnEvent) {
  hold();
  release_deferred();
  read(kGranted);  // nil: it was not there
  EXPECT_EQ(told(), std::vector<Kind>{Kind::kLostLate});
  EXPECT_TRUE(keeper().idle());
  EXPECT_TRUE(keeper().lost(name, kAlice));
}

TEST_F(LateReleaseTest, ALossLeavesTheNextHoldAlone) {
  hold();
  release_deferred();
  script.replies = {kGranted + kGranted};
  acquire();
  EXPECT_TRUE(plain());
  EXPECT_EQ(told(), std::vector<Kind>{Kind::kLostLate});
  EXPECT_FALSE(keeper().lost(name, kAlice));
  EXPECT_EQ(keeper().count(name, kAlice), 1);
}

TEST_F(LateReleaseTest, ARefusalIsToldByAnEvent) {
  hold();
  release_deferred();
  read("-NOPERM no rights\r\n");
  EXPECT_EQ(told(), std::vector<Kind>{Kind::kUnreleased});
  EXPECT_TRUE(keeper().idle()) << "for good";
}

TEST_F(LateReleaseTest, AServerThatDoesNotKnowTheScriptGetsItsText) {
  hold();
  release_deferred();
  read("-NOSCRIPT No matching script.\r\n");
  EXPECT_EQ(script.count("\r\nEVAL\r\n"), 1);
  EXPECT_FALSE(keeper().idle());
  std::string replies;
  for (std::size_t i = 0; i < recipe.scripts().size(); ++i) replies += "+loaded\r\n";
  read(replies + kReleased);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(LateReleaseTest, BehindItsOwnersNextAttemptItIsNotSentAgain) {
  hold();
  release_deferred();
  script.replies = {"-NOSCRIPT No matching script.\r\n" + kGranted};
  acquire();
  EXPECT_EQ(keeper().count(name, kAlice), 1);
  EXPECT_EQ(script.count("\r\nEVAL\r\n"), 0) << "it would free the new hold";
}

TEST_F(LateReleaseTest, WhereOthersHeardOfItTheClientYields) {
  hold();
  release_deferred();
  read(":2\r\n");
  const std::string channel = recipe.channel(name, {}).bytes();
  EXPECT_GT(context->waits->holds_back(channel), script.clock.now());
  acquire();
  EXPECT_FALSE(waited);
}

TEST_F(LateReleaseTest, WithoutAnAnswerItGoesOnAndAnEventSaysSo) {
  hold();
  release_deferred();
  script.clock.advance(kPatience);
  script.replies = {};
  (void)connection->step(script.clock.now());
  EXPECT_EQ(told(), std::vector<Kind>{Kind::kUnreleased});
  EXPECT_FALSE(keeper().idle());
}

TEST_F(LateReleaseTest, ClosedItIsLeftInTheLedger) {
  hold();
  release_deferred();
  context->topology->close(Status::closed("closed"));
  EXPECT_FALSE(keeper().idle());
  EXPECT_EQ(keeper().close(), std::vector<std::string>{name.bytes()});
}

TEST_F(LateReleaseTest, WhatCannotBeWrittenIsWaitedFor) {
  hold();
  script.room = 5;
  script.replies = {"", kReleased};
  release_deferred();
  ASSERT_TRUE(waited->exchange);
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(LateReleaseTest, OnceItIsWrittenItsThreadLeaves) {
  hold();
  script.room = 5;
  script.on_reading = [this] { (void)context->timers->step(script.clock.now()); };
  const TimePoint begun = script.clock.now();
  release_deferred();
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_LT(script.clock.now(), begun + Millis(100));
  EXPECT_FALSE(keeper().idle());
  EXPECT_EQ(script.count("client:7"), 1);
  read(kReleased);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(LateReleaseTest, WrittenBeforeItsThreadWaitsItIsNotWaitedFor) {
  hold();
  script.room = 5;
  script.on_writing = [this] { script.on_writing = [this] { script.room = std::string::npos; }; };
  script.on_reading = [this] { (void)context->timers->step(script.clock.now()); };
  const TimePoint begun = script.clock.now();
  release_deferred();
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_LT(script.clock.now(), begun + Millis(100));
  read(kReleased);
  EXPECT_TRUE(keeper().idle());
}

TEST_F(LateReleaseTest, WhatIsNeverWrittenFailsAndMayBeAskedForAgain) {
  hold();
  script.room = 0;
  script.stuck = true;
  release_deferred();
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_TRUE(told().empty()) << "its caller gets an error";
  EXPECT_FALSE(keeper().idle());
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict,
            lease::ReleasePlan::Verdict::kFinal);
}

TEST_F(LateReleaseTest, AnInterruptedWriterHasLeft) {
  hold();
  script.room = 0;
  script.stuck = true;
  Impatient impatient;
  release_deferred(kAlice, &impatient);
  EXPECT_FALSE(waited->outcome);
  EXPECT_EQ(keeper().begin_release(name, kAlice, false).verdict,
            lease::ReleasePlan::Verdict::kNotOwned);
  script.room = std::string::npos;
  script.stuck = false;
}

TEST_F(LateReleaseTest, WhatIsAnsweredBeforeItsThreadWaitsIsDone) {
  hold();
  script.on_writing = [this] { context->topology->close(Status::closed("closed")); };
  release_deferred();
  EXPECT_TRUE(plain());
  EXPECT_FALSE(keeper().idle());
}

TEST_F(LateReleaseTest, ANestedHoldIsNotReleasedSo) {
  hold();
  lease::Attempt attempt(keeper(), name, kAlice);
  EXPECT_TRUE(attempt.begin());
  EXPECT_TRUE(keeper().granted({name, kAlice, 2, kLease, script.clock.now(), &recipe}, attempt));
  release_deferred();
  EXPECT_FALSE(waited);
  EXPECT_EQ(keeper().count(name, kAlice), 2);
  EXPECT_EQ(script.got, "");
}

TEST_F(LateReleaseTest, AThreadUsesItAgainAndItHoldsNoClient) {
  hold();
  LateRelease* const first = LateRelease::of_this_thread().get();
  const auto before = context.use_count();
  release_deferred();
  EXPECT_GT(context.use_count(), before);
  read(kReleased);
  waited.reset();
  EXPECT_EQ(context.use_count(), before);
  EXPECT_EQ(LateRelease::of_this_thread().get(), first);
}

}  // namespace
}  // namespace holdfast::sync
