// Releases whose caller leaves once the command is written, for threads and tasks.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "locks/sync/call_fixture.h"

namespace holdfast::sync {
namespace {

using Kind = Event::Kind;

class DeferredHoldReleaseTest : public CallFixture,
                                public ::testing::WithParamInterface<CallerKind> {
 protected:
  DeferredHoldReleaseTest() { set_up(GetParam(), kinds_with_holds().front()); }

  // Alice has it, and nothing is to come.
  void hold() {
    acquire({granted});
    script.got.clear();
  }
  // Its caller has left; of a task, once the loop has notified it.
  void release_deferred() {
    run(release_call(kAlice, true), {});
    if (by_thread()) return;
    serve({});
    (void)context->timers->step(script.clock.now());
    outcome = kept->last;
  }
  std::vector<Kind> reported() const {
    std::vector<Kind> kinds;
    for (const Event& event : events->all) kinds.push_back(event.kind);
    return kinds;
  }
};

TEST_P(DeferredHoldReleaseTest, ItIsWrittenAndPending) {
  hold();
  release_deferred();
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(count(), 0);
  EXPECT_FALSE(keeper().is_idle());
  EXPECT_EQ(script.got, release_command());
  read(kReleased);
  EXPECT_TRUE(keeper().is_idle());
  EXPECT_TRUE(reported().empty());
}

TEST_P(DeferredHoldReleaseTest, ThenItsOwnerHoldsNothing) {
  hold();
  release_deferred();
  release({});
  EXPECT_EQ(verdict(), Verdict::kBusy);
  release_deferred();
  EXPECT_EQ(verdict(), Verdict::kBusy);
}

TEST_P(DeferredHoldReleaseTest, TheNextAttemptTakesItOver) {
  hold();
  for (int i = 0; i < 3; ++i) {
    release_deferred();
    acquire_behind(kReleased, granted);
    EXPECT_EQ(verdict(), Verdict::kGranted);
    EXPECT_EQ(count(), 1);
  }
  EXPECT_TRUE(keeper().is_idle());
  EXPECT_TRUE(reported().empty());
}

TEST_P(DeferredHoldReleaseTest, ARefusedAttemptSettlesItToo) {
  hold();
  release_deferred();
  acquire_behind(kReleased, kHeld);
  EXPECT_EQ(verdict(), Verdict::kBusy);
  EXPECT_TRUE(keeper().is_idle());
}

TEST_P(DeferredHoldReleaseTest, AnAttemptWhoseCallerLeavesKeepsIt) {
  hold();
  release_deferred();
  leave(acquire_call());
  EXPECT_FALSE(keeper().is_idle()) << "the attempt is taken back";
  read(kReleased + granted + kReleased);
  EXPECT_TRUE(keeper().is_idle());
}

TEST_P(DeferredHoldReleaseTest, ALossIsReportedByAnEvent) {
  hold();
  release_deferred();
  read(kNil);  // it was not there
  EXPECT_EQ(reported(), std::vector<Kind>{Kind::kLostAfterRelease});
  EXPECT_TRUE(keeper().is_idle());
  EXPECT_TRUE(keeper().known(lock->name, kAlice).lost);
}

TEST_P(DeferredHoldReleaseTest, ALossLeavesTheNextHoldAlone) {
  hold();
  release_deferred();
  acquire_behind(kNil, granted);
  EXPECT_EQ(reported(), std::vector<Kind>{Kind::kLostAfterRelease});
  EXPECT_FALSE(keeper().known(lock->name, kAlice).lost);
  EXPECT_EQ(count(), 1);
}

TEST_P(DeferredHoldReleaseTest, ARefusalIsReportedByAnEvent) {
  hold();
  release_deferred();
  read("-NOPERM no rights\r\n");
  EXPECT_EQ(reported(), std::vector<Kind>{Kind::kUnreleased});
  EXPECT_TRUE(keeper().is_idle()) << "for good";
}

TEST_P(DeferredHoldReleaseTest, AServerThatDoesNotKnowTheScriptGetsItsText) {
  hold();
  release_deferred();
  read(kNoScript);
  EXPECT_FALSE(keeper().is_idle());
  if (!by_thread()) serve({});
  EXPECT_EQ(script.count("\r\nEVAL\r\n"), 1);
}

TEST_P(DeferredHoldReleaseTest, BehindItsOwnersNextAttemptItIsNotSentAgain) {
  hold();
  release_deferred();
  acquire_behind(kNoScript, granted);
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(script.count("\r\nEVAL\r\n"), 0) << "it would free the new hold";
}

TEST_P(DeferredHoldReleaseTest, WhereOtherClientsReceivedItTheClientYields) {
  hold();
  release_deferred();
  read(":2\r\n");
  EXPECT_GT(context->waits->holds_back(lock->channel()), script.clock.now());
}

TEST_P(DeferredHoldReleaseTest, WithoutAReplyItGoesOnAndAnEventSaysSo) {
  hold();
  release_deferred();
  script.clock.advance(kTimeout);
  script.replies = {};
  (void)connection->step(script.clock.now());
  EXPECT_EQ(reported(), std::vector<Kind>{Kind::kUnreleased});
  EXPECT_FALSE(keeper().is_idle());
}

TEST_P(DeferredHoldReleaseTest, ClosedItIsLeftInTheLedger) {
  hold();
  release_deferred();
  context->topology->close(Status::closed("closed"));
  EXPECT_FALSE(keeper().is_idle());
  EXPECT_EQ(keeper().close(), std::vector<std::string>{lock->name.text()});
}

TEST_P(DeferredHoldReleaseTest, ItsCallIsGoneWithItsReply) {
  hold();
  const auto before = context.use_count();
  release_deferred();
  begun.reset();
  EXPECT_GT(context.use_count(), before - 1);
  read(kReleased);
  begun.reset();
  EXPECT_LE(context.use_count(), before);
}

TEST_P(DeferredHoldReleaseTest, ANestedHoldIsReleasedAndWaitedFor) {
  hold();
  acquire({granted});
  EXPECT_EQ(count(), 2);
  run(release_call(kAlice, true), {":0\r\n"});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(count(), 1);
  EXPECT_TRUE(keeper().is_idle());
}

INSTANTIATE_TEST_SUITE_P(Of, DeferredHoldReleaseTest,
                         ::testing::Values(CallerKind::kThread, CallerKind::kTask),
                         [](const auto& of) {
                           return of.param == CallerKind::kThread ? "thread" : "task";
                         });

// ---- A thread whose command is not written at once

class UnwrittenReleaseTest : public CallFixture {
 protected:
  UnwrittenReleaseTest() {
    set_up(CallerKind::kThread, kinds_with_holds().front());
    acquire({granted});
    script.got.clear();
  }
  void release_deferred(Replies replies = {}) { run(release_call(kAlice, true), replies); }
};

TEST_F(UnwrittenReleaseTest, ItsReplyMayLieUnread) {
  release_deferred();
  script.replies = {kReleased};
  (void)connection->step(script.clock.now());
  EXPECT_EQ(script.replies.size(), 1U) << "the loop need not read it at once";
  script.clock.advance(Millis(5));
  (void)connection->step(script.clock.now());
  EXPECT_TRUE(keeper().is_idle());
}

TEST_F(UnwrittenReleaseTest, WhatCannotBeWrittenIsWaitedFor) {
  script.room = 5;
  release_deferred({"", kReleased});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_TRUE(keeper().is_idle());
}

TEST_F(UnwrittenReleaseTest, OnceItIsWrittenItsThreadLeaves) {
  script.room = 5;
  script.on_reading = [this] { (void)context->timers->step(script.clock.now()); };
  const TimePoint begun_at = script.clock.now();
  release_deferred();
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_LT(script.clock.now(), begun_at + Millis(100));
  EXPECT_FALSE(keeper().is_idle());
  EXPECT_EQ(script.count("client:7"), 1);
  read(kReleased);
  EXPECT_TRUE(keeper().is_idle());
}

// For newcomers of this client, who are not to overtake the waiters of others.
TEST_F(UnwrittenReleaseTest, OnceItIsWrittenItIsInFlightUntilItsReply) {
  wait::WaitRegistry& waits = *context->waits;
  const std::string channel = lock->recipe.channel(lock->name, {});
  waits.published(channel, 1, script.clock.now()).run();
  script.room = 5;
  script.on_reading = [this] { (void)context->timers->step(script.clock.now()); };
  release_deferred();
  EXPECT_TRUE(waits.release_in_flight(channel));
  read(kReleased);
  EXPECT_FALSE(waits.release_in_flight(channel));
}

TEST_F(UnwrittenReleaseTest, WrittenBeforeItsThreadWaitsItIsNotWaitedFor) {
  script.room = 5;
  script.on_writing = [this] { script.on_writing = [this] { script.room = std::string::npos; }; };
  script.on_reading = [this] { (void)context->timers->step(script.clock.now()); };
  const TimePoint begun_at = script.clock.now();
  release_deferred();
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_LT(script.clock.now(), begun_at + Millis(100));
  read(kReleased);
  EXPECT_TRUE(keeper().is_idle());
}

TEST_F(UnwrittenReleaseTest, WhatIsNeverWrittenFailsAndMayBeReleasedAgain) {
  script.room = 0;
  script.stuck = true;
  release_deferred();
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_TRUE(events->all.empty()) << "its caller gets an error";
  EXPECT_FALSE(keeper().is_idle());
  EXPECT_EQ(keeper().releases.begin(lock->name, kAlice, {}).kind, lease::ReleasePlan::Kind::kFinal);
}

TEST_F(UnwrittenReleaseTest, AnInterruptedThreadHasLeft) {
  script.room = 0;
  script.stuck = true;
  leave(release_call(kAlice, true));
  EXPECT_FALSE(outcome);
  EXPECT_EQ(keeper().releases.begin(lock->name, kAlice, {}).kind,
            lease::ReleasePlan::Kind::kNotOwned);
  script.room = std::string::npos;
  script.stuck = false;
}

TEST_F(UnwrittenReleaseTest, WhatIsAnsweredBeforeItsThreadWaitsIsItsOutcome) {
  script.on_writing = [this] { context->topology->close(Status::closed("closed")); };
  release_deferred();
  EXPECT_TRUE(outcome);
  EXPECT_FALSE(keeper().is_idle());
}

}  // namespace
}  // namespace holdfast::sync
