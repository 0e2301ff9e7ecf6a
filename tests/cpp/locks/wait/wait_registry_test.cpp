// Those who wait in turn: of a queue the head tries.

#include <memory>
#include <string>

#include "locks/wait/registry_fixture.h"

namespace holdfast::wait {
namespace {

TEST_F(WaitRegistryTest, TheFirstWaiterSubscribesAndIsSignalledOnConfirmation) {
  EXPECT_EQ(registry.join(kChannel, first, {}), Place::kHead);
  EXPECT_EQ(asked, Notified{"subscribe channel"});
  EXPECT_FALSE(registry.sequence(kChannel));
  registry.subscribed(kChannel).run();
  EXPECT_EQ(first->notified, Notified{"signal"});
  EXPECT_TRUE(registry.sequence(kChannel));
}

TEST_F(WaitRegistryTest, LaterWaitersQueueUpBehindWithoutAnotherSubscription) {
  (void)registry.join(kChannel, first, {});
  registry.subscribed(kChannel).run();
  EXPECT_EQ(registry.join(kChannel, second, registry.sequence(kChannel)), Place::kQueued);
  EXPECT_EQ(asked.size(), 1U);
}

TEST_F(WaitRegistryTest, AMessageWakesTheHeadOnly) {
  queue({first, second});
  registry.message(kChannel).run();
  EXPECT_EQ(first->notified, Notified{"signal"});
  EXPECT_EQ(second->notified, Notified{});
}

TEST_F(WaitRegistryTest, ASubscriptionRegainedWakesTheHead) {
  queue({first, second});
  registry.subscribed(kChannel).run();
  EXPECT_EQ(first->notified, Notified{"signal"});
}

// The lingering subscription of an earlier waiter is there when the newcomer makes its attempt.
TEST_F(WaitRegistryTest, AMessageBetweenTheAttemptAndTheQueueIsNotMissed) {
  queue({first});
  leave(*first, LeaveReason::kGranted);
  const auto seen = registry.sequence(kChannel);
  registry.message(kChannel).run();
  EXPECT_EQ(registry.join(kChannel, second, seen), Place::kTryNow);
}

TEST_F(WaitRegistryTest, ASubscriptionConfirmedAfterTheAttemptIsNotMissed) {
  queue({first});
  leave(*first, LeaveReason::kGranted);
  const auto seen = registry.sequence(kChannel);
  registry.subscribed(kChannel).run();
  EXPECT_EQ(registry.join(kChannel, second, seen), Place::kTryNow);
}

TEST_F(WaitRegistryTest, WithoutACallSinceItsAttemptTheHeadMaySleep) {
  queue({first});
  leave(*first, LeaveReason::kGranted);
  EXPECT_EQ(registry.join(kChannel, second, registry.sequence(kChannel)), Place::kHead);
  EXPECT_EQ(second->notified, Notified{});
}

TEST_F(WaitRegistryTest, AHeadThatHasNotTriedTries) {
  queue({first});
  leave(*first, LeaveReason::kGranted);
  EXPECT_EQ(registry.join(kChannel, second, {}), Place::kTryNow);
}

TEST_F(WaitRegistryTest, AHeadThatGotItGivesItsTurnToTheNext) {
  queue({first, second, third});
  leave(*first, LeaveReason::kGranted);
  EXPECT_EQ(second->notified, Notified{"turn"});
  EXPECT_EQ(third->notified, Notified{});
}

TEST_F(WaitRegistryTest, AHeadThatGaveUpAsleepGivesItsTurnToTheNext) {
  queue({first, second});
  leave(*first, LeaveReason::kGaveUp);
  EXPECT_EQ(second->notified, Notified{"turn"});
}

TEST_F(WaitRegistryTest, AnAttemptNotCarriedThroughIsTheNextOnesToMake) {
  queue({first, second});
  registry.message(kChannel).run();
  leave(*first, LeaveReason::kTrying);
  EXPECT_EQ(second->notified, Notified{"signal"});
}

TEST_F(WaitRegistryTest, BeforeTheSubscriptionThereIsAHeadToo) {
  EXPECT_EQ(registry.join(kChannel, first, {}), Place::kHead);
  EXPECT_EQ(registry.join(kChannel, second, {}), Place::kQueued);
  leave(*first, LeaveReason::kGaveUp);
  EXPECT_EQ(second->notified, Notified{"turn"});
}

TEST_F(WaitRegistryTest, AWaiterThatLeavesFromBehindWakesNoOther) {
  queue({first, second, third});
  leave(*second, LeaveReason::kGaveUp);
  registry.message(kChannel).run();
  EXPECT_EQ(first->notified, Notified{"signal"});
  EXPECT_EQ(third->notified, Notified{});
}

TEST_F(WaitRegistryTest, LeavingTwicePassesTheTurnOnOnce) {
  queue({first, second});
  leave(*first, LeaveReason::kGaveUp);
  leave(*first, LeaveReason::kGaveUp);
  EXPECT_EQ(second->notified, Notified{"turn"});
}

TEST_F(WaitRegistryTest, AfterAGrantTheSubscriptionLingers) {
  queue({first});
  leave(*first, LeaveReason::kGranted);
  EXPECT_EQ(asked.back(), "release channel after 100");
}

TEST_F(WaitRegistryTest, AReleaseHasNoWaiterWhereOnlyTheSubscriptionLingers) {
  queue({first});
  EXPECT_TRUE(registry.has_waiters(kChannel));
  leave(*first, LeaveReason::kGranted);
  EXPECT_FALSE(registry.has_waiters(kChannel));
  EXPECT_FALSE(registry.idle(kChannel, kZero)) << "a newcomer looks for messages first";
}

TEST_F(WaitRegistryTest, TheTurnOfOtherClientsEndsForNewcomers) {
  registry.published(kChannel, 1, kZero).run();
  EXPECT_FALSE(registry.idle(kChannel, kZero));
  EXPECT_TRUE(registry.idle(kChannel, kLater));
}

TEST_F(WaitRegistryTest, TheLastReleaseSaysHowManyOtherClientsWait) {
  queue({first});
  EXPECT_EQ(registry.others(kChannel), 0);
  registry.subscribed(kChannel).run();
  registry.published(kChannel, 6, kZero).run();
  EXPECT_EQ(registry.others(kChannel), 5);
  registry.published(kChannel, 1, kZero).run();
  EXPECT_EQ(registry.others(kChannel), 0);
  EXPECT_EQ(registry.others("other"), 0);
}

TEST_F(WaitRegistryTest, AThreadThatWaitsAloneHasNoOthersToReadFor) {
  queue({first});
  EXPECT_TRUE(registry.has_waiters(0));
  EXPECT_FALSE(registry.has_waiters(1));
  (void)registry.join("other", second, {});
  EXPECT_TRUE(registry.has_waiters(1));
}

TEST_F(WaitRegistryTest, AfterASurrenderItDoesNot) {
  queue({first});
  leave(*first, LeaveReason::kGaveUp);
  EXPECT_EQ(asked.back(), "release channel after 0");
}

TEST_F(WaitRegistryTest, AnUnusedSubscriptionEnds) {
  queue({first});
  leave(*first, LeaveReason::kGranted);
  EXPECT_TRUE(registry.released(kChannel));
  EXPECT_FALSE(registry.sequence(kChannel));
}

TEST_F(WaitRegistryTest, ASubscriptionThatIsNeededAgainGoesOn) {
  queue({first});
  leave(*first, LeaveReason::kGranted);
  (void)registry.join(kChannel, second, {});
  EXPECT_FALSE(registry.released(kChannel));
  EXPECT_TRUE(registry.sequence(kChannel));
  EXPECT_EQ(asked.size(), 2U);
}

TEST_F(WaitRegistryTest, ANewcomerAfterTheEndSubscribesAnew) {
  queue({first});
  leave(*first, LeaveReason::kGranted);
  ASSERT_TRUE(registry.released(kChannel));
  EXPECT_EQ(registry.join(kChannel, second, {}), Place::kHead);
  EXPECT_EQ(asked.back(), "subscribe channel");
}

TEST_F(WaitRegistryTest, AMessageOfAChannelThatEndedWakesNoWaiter) {
  queue({first});
  leave(*first, LeaveReason::kGranted);
  ASSERT_TRUE(registry.released(kChannel));
  registry.message(kChannel).run();
  registry.subscribed(kChannel).run();
  EXPECT_FALSE(registry.sequence(kChannel));
  EXPECT_EQ(first->notified, Notified{});
}

TEST_F(WaitRegistryTest, AfterItsHandOversTheHeadLetsOtherClientsGoFirst) {
  queue({first});
  for (int i = 0; i < 16; ++i) (void)registry.next_waiter(kChannel, kZero);
  EXPECT_EQ(registry.next_waiter(kChannel, kZero), nullptr);
  registry.message(kChannel).run();
  EXPECT_EQ(first->notified, Notified{"turn at another time"});
  registry.published(kChannel, 2, kLater - Millis(2)).run();
  registry.message(kChannel).run();
  EXPECT_EQ(first->notified, (Notified{"turn at another time", "turn", "turn"}));
}

TEST_F(WaitRegistryTest, AfterItsHandOversTheHeadGoesOnWhereNoOtherClientWaits) {
  queue({first});
  for (int i = 0; i < 16; ++i) (void)registry.next_waiter(kChannel, kZero);
  EXPECT_EQ(registry.next_waiter(kChannel, kZero), nullptr);
  registry.published(kChannel, 1, kZero).run();
  registry.message(kChannel).run();
  EXPECT_EQ(first->notified, (Notified{"signal", "signal"}));
}

TEST_F(WaitRegistryTest, ANewcomerWaitsForTheReleaseInFlightWhereOthersWait) {
  EXPECT_FALSE(registry.release_begins(kChannel));  // no other is known to wait
  registry.published(kChannel, 1, kZero).run();
  ASSERT_TRUE(registry.release_begins(kChannel));
  EXPECT_TRUE(registry.release_in_flight(kChannel));
  const auto newcomer = std::make_shared<Sleeper>();
  EXPECT_EQ(registry.join(kChannel, newcomer, {}), Place::kHead);
  registry.subscribed(kChannel).run();
  registry.message(kChannel).run();
  EXPECT_EQ(newcomer->notified, Notified({"turn at another time", "turn at another time"}));
  newcomer->notified.clear();
  registry.published(kChannel, 2, kLater - Millis(2)).run();
  registry.release_answered(kChannel).run();
  EXPECT_EQ(newcomer->notified, Notified{"turn"});
  EXPECT_FALSE(registry.release_in_flight(kChannel));
}

TEST_F(WaitRegistryTest, ANewcomerTriesWhenTheReleaseHasFailed) {
  registry.published(kChannel, 1, kZero).run();
  ASSERT_TRUE(registry.release_begins(kChannel));
  const auto newcomer = std::make_shared<Sleeper>();
  (void)registry.join(kChannel, newcomer, {});
  registry.release_answered(kChannel).run();
  EXPECT_EQ(newcomer->notified, Notified{"signal"});
}

TEST_F(WaitRegistryTest, ARefusedChannelFailsItsWaiters) {
  (void)registry.join(kChannel, first, {});
  (void)registry.join(kChannel, second, {});
  (void)registry.join("other", third, {});
  registry.refused(kChannel, Status::server("NOPERM", "no")).run();
  EXPECT_EQ(first->notified, Notified{"failure: no"});
  EXPECT_EQ(second->notified, Notified{"failure: no"});
  EXPECT_EQ(third->notified, Notified{});
  EXPECT_EQ(registry.join(kChannel, first, {}), Place::kHead);
}

TEST_F(WaitRegistryTest, AnUnreachableServerFailsTheWaitersOfItsChannels) {
  queue({first, second});
  (void)registry.join("other", third, {});
  registry.unreachable(kChannel, Status::unreachable("no server")).run();
  EXPECT_EQ(first->notified, Notified{"failure: no server"});
  EXPECT_EQ(second->notified, Notified{"failure: no server"});
  EXPECT_EQ(third->notified, Notified{});
}

TEST_F(WaitRegistryTest, TheEndFailsThoseInTurnToo) {
  queue({first, second});
  registry.closed(Status::closed("closed")).run();
  EXPECT_EQ(first->notified, Notified{"failure: closed"});
  EXPECT_EQ(second->notified, Notified{"failure: closed"});
}

TEST_F(WaitRegistryTest, TheNextWaiterIsTheHead) {
  EXPECT_EQ(registry.next_waiter(kChannel, kZero), nullptr);
  queue({first, second});
  EXPECT_EQ(registry.next_waiter(kChannel, kZero), first);
}

TEST_F(WaitRegistryTest, AfterSixteenHandOversItIsTheOthersTurnOnce) {
  queue({first});
  for (int i = 0; i < 16; ++i) EXPECT_EQ(registry.next_waiter(kChannel, kZero), first) << i;
  EXPECT_EQ(registry.next_waiter(kChannel, kZero), nullptr);
  EXPECT_EQ(registry.next_waiter(kChannel, kZero), first);
}

TEST_F(WaitRegistryTest, AfterTenMillisecondsOfHandOversItIsTheOthersTurnOnce) {
  queue({first});
  EXPECT_EQ(registry.next_waiter(kChannel, kZero), first);
  EXPECT_EQ(registry.next_waiter(kChannel, kZero + Millis(9)), first);
  EXPECT_EQ(registry.next_waiter(kChannel, kZero + Millis(10)), nullptr);
  EXPECT_EQ(registry.next_waiter(kChannel, kZero + Millis(11)), first);
}

}  // namespace
}  // namespace holdfast::wait
