#include "wait/wait_registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::wait {
namespace {

using Place = WaitRegistry::Place;

const std::string kChannel = "channel";
constexpr TimePoint kZero{std::chrono::hours(1)};
constexpr TimePoint kLater = kZero + Millis(500);

// Writes down what it is told.
class Sleeper final : public Waiter {
 public:
  void on_signal() override { told.emplace_back("signal"); }
  void on_turn(TimePoint retry_at) override {
    told.push_back(retry_at == kLater ? "turn" : "turn at another time");
  }
  void on_failure(const Status& why) override { told.push_back("failure: " + why.message()); }

  std::int64_t wants() const override { return wanted; }
  void on_message(std::string_view payload) override {
    told.push_back(payload.empty() ? "signal" : "message " + std::string(payload));
  }

  std::int64_t wanted = 0;
  std::vector<std::string> told;
};

using Told = std::vector<std::string>;

class WaitRegistryTest : public ::testing::Test, public Subscriptions {
 protected:
  void subscribe(const std::string& channel) override { asked.push_back("subscribe " + channel); }
  void release(const std::string& channel, Duration linger) override {
    const auto milliseconds = std::chrono::duration_cast<Millis>(linger).count();
    asked.push_back("release " + channel + " after " + std::to_string(milliseconds));
  }

  void leave(const Sleeper& waiter, Departure why) {
    registry.leave(kChannel, waiter, why, kLater).run();
  }
  // A queue of `waiters`, subscribed, whose head knows nothing new.
  void queue(const std::vector<std::shared_ptr<Sleeper>>& waiters) {
    for (const auto& waiter : waiters) (void)registry.join(kChannel, waiter, {});
    registry.subscribed(kChannel).run();
    for (const auto& waiter : waiters) waiter->told.clear();
  }

  // Those `waiters` stand together, subscribed, and want so many permits each.
  void together(const std::vector<std::shared_ptr<Sleeper>>& waiters, std::int64_t wanted) {
    for (const auto& waiter : waiters) {
      (void)registry.join(kChannel, waiter, {}, WaitRegistry::Crowd::kTogether);
    }
    registry.subscribed(kChannel).run();
    for (const auto& waiter : waiters) {
      waiter->told.clear();
      waiter->wanted = wanted;
    }
  }

  WaitRegistry registry{*this};
  std::vector<std::string> asked;
  const std::shared_ptr<Sleeper> first = std::make_shared<Sleeper>();
  const std::shared_ptr<Sleeper> second = std::make_shared<Sleeper>();
  const std::shared_ptr<Sleeper> third = std::make_shared<Sleeper>();
};

TEST_F(WaitRegistryTest, TheFirstWaiterSubscribesAndIsToldOnceThatIsConfirmed) {
  EXPECT_EQ(registry.join(kChannel, first, {}), Place::kHead);
  EXPECT_EQ(asked, Told{"subscribe channel"});
  EXPECT_FALSE(registry.sequence(kChannel));
  registry.subscribed(kChannel).run();
  EXPECT_EQ(first->told, Told{"signal"});
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
  EXPECT_EQ(first->told, Told{"signal"});
  EXPECT_EQ(second->told, Told{});
}

TEST_F(WaitRegistryTest, ASubscriptionRegainedWakesTheHead) {
  queue({first, second});
  registry.subscribed(kChannel).run();
  EXPECT_EQ(first->told, Told{"signal"});
}

// The lingering subscription of an earlier waiter is there when the newcomer makes its attempt.
TEST_F(WaitRegistryTest, AMessageBetweenTheAttemptAndTheQueueIsNotMissed) {
  queue({first});
  leave(*first, Departure::kGranted);
  const auto seen = registry.sequence(kChannel);
  registry.message(kChannel).run();
  EXPECT_EQ(registry.join(kChannel, second, seen), Place::kTryNow);
}

TEST_F(WaitRegistryTest, ASubscriptionConfirmedAfterTheAttemptIsNotMissed) {
  queue({first});
  leave(*first, Departure::kGranted);
  const auto seen = registry.sequence(kChannel);
  registry.subscribed(kChannel).run();
  EXPECT_EQ(registry.join(kChannel, second, seen), Place::kTryNow);
}

TEST_F(WaitRegistryTest, WithoutNewsSinceItsAttemptTheHeadMaySleep) {
  queue({first});
  leave(*first, Departure::kGranted);
  EXPECT_EQ(registry.join(kChannel, second, registry.sequence(kChannel)), Place::kHead);
  EXPECT_EQ(second->told, Told{});
}

TEST_F(WaitRegistryTest, AHeadThatHasNotTriedTries) {
  queue({first});
  leave(*first, Departure::kGranted);
  EXPECT_EQ(registry.join(kChannel, second, {}), Place::kTryNow);
}

TEST_F(WaitRegistryTest, AHeadThatGotItGivesItsTurnToTheNext) {
  queue({first, second, third});
  leave(*first, Departure::kGranted);
  EXPECT_EQ(second->told, Told{"turn"});
  EXPECT_EQ(third->told, Told{});
}

TEST_F(WaitRegistryTest, AHeadThatGaveUpAsleepGivesItsTurnToTheNext) {
  queue({first, second});
  leave(*first, Departure::kGaveUp);
  EXPECT_EQ(second->told, Told{"turn"});
}

TEST_F(WaitRegistryTest, AnAttemptNotCarriedThroughIsTheNextOnesToMake) {
  queue({first, second});
  registry.message(kChannel).run();
  leave(*first, Departure::kTrying);
  EXPECT_EQ(second->told, Told{"signal"});
}

TEST_F(WaitRegistryTest, BeforeTheSubscriptionThereIsAHeadToo) {
  EXPECT_EQ(registry.join(kChannel, first, {}), Place::kHead);
  EXPECT_EQ(registry.join(kChannel, second, {}), Place::kQueued);
  leave(*first, Departure::kGaveUp);
  EXPECT_EQ(second->told, Told{"turn"});
}

TEST_F(WaitRegistryTest, OneThatLeavesFromBehindTellsNobody) {
  queue({first, second, third});
  leave(*second, Departure::kGaveUp);
  registry.message(kChannel).run();
  EXPECT_EQ(first->told, Told{"signal"});
  EXPECT_EQ(third->told, Told{});
}

TEST_F(WaitRegistryTest, WhoeverLeavesTwiceTellsNobodyTwice) {
  queue({first, second});
  leave(*first, Departure::kGaveUp);
  leave(*first, Departure::kGaveUp);
  EXPECT_EQ(second->told, Told{"turn"});
}

TEST_F(WaitRegistryTest, AfterAGrantTheSubscriptionLingers) {
  queue({first});
  leave(*first, Departure::kGranted);
  EXPECT_EQ(asked.back(), "release channel after 100");
}

TEST_F(WaitRegistryTest, AfterASurrenderItDoesNot) {
  queue({first});
  leave(*first, Departure::kGaveUp);
  EXPECT_EQ(asked.back(), "release channel after 0");
}

TEST_F(WaitRegistryTest, AnUnusedSubscriptionEnds) {
  queue({first});
  leave(*first, Departure::kGranted);
  EXPECT_TRUE(registry.released(kChannel));
  EXPECT_FALSE(registry.sequence(kChannel));
}

TEST_F(WaitRegistryTest, ASubscriptionThatIsNeededAgainGoesOn) {
  queue({first});
  leave(*first, Departure::kGranted);
  (void)registry.join(kChannel, second, {});
  EXPECT_FALSE(registry.released(kChannel));
  EXPECT_TRUE(registry.sequence(kChannel));
  EXPECT_EQ(asked.size(), 2U);
}

TEST_F(WaitRegistryTest, ANewcomerAfterTheEndSubscribesAnew) {
  queue({first});
  leave(*first, Departure::kGranted);
  ASSERT_TRUE(registry.released(kChannel));
  EXPECT_EQ(registry.join(kChannel, second, {}), Place::kHead);
  EXPECT_EQ(asked.back(), "subscribe channel");
}

TEST_F(WaitRegistryTest, AMessageOfAChannelThatEndedIsNobodys) {
  queue({first});
  leave(*first, Departure::kGranted);
  ASSERT_TRUE(registry.released(kChannel));
  registry.message(kChannel).run();
  registry.subscribed(kChannel).run();
  EXPECT_FALSE(registry.sequence(kChannel));
  EXPECT_EQ(first->told, Told{});
}

// Writes into a list of all when it is told.
class Named final : public Waiter {
 public:
  Named(std::string name, std::vector<std::string>& order)
      : name_(std::move(name)), order_(order) {}
  void on_signal() override { order_.push_back(name_); }
  void on_turn(TimePoint /*retry_at*/) override {}
  void on_failure(const Status& /*why*/) override {}

 private:
  const std::string name_;
  std::vector<std::string>& order_;
};

TEST_F(WaitRegistryTest, ThoseTogetherAreToldBeforeTheHead) {
  using Crowd = WaitRegistry::Crowd;
  Told order;
  (void)registry.join(kChannel, std::make_shared<Named>("writer", order), {});
  for (const char* reader : {"one reader", "another reader"}) {
    (void)registry.join(kChannel, std::make_shared<Named>(reader, order), {}, Crowd::kTogether);
  }
  registry.subscribed(kChannel).run();
  order.clear();
  registry.message(kChannel).run();
  EXPECT_EQ(order, (Told{"one reader", "another reader", "writer"}));
}

TEST_F(WaitRegistryTest, ThoseTogetherAreAllToldOfAMessage) {
  using Crowd = WaitRegistry::Crowd;
  queue({first});
  EXPECT_EQ(registry.join(kChannel, second, registry.sequence(kChannel), Crowd::kTogether),
            Place::kHead);
  EXPECT_EQ(registry.join(kChannel, third, {}, Crowd::kTogether), Place::kTryNow);
  registry.message(kChannel).run();
  EXPECT_EQ(first->told, Told{"signal"});
  EXPECT_EQ(second->told, Told{"signal"});
  EXPECT_EQ(third->told, Told{"signal"});
  leave(*second, Departure::kGranted);
  registry.message(kChannel).run();
  EXPECT_EQ(second->told, Told{"signal"});
  EXPECT_EQ(third->told, (Told{"signal", "signal"}));
}

TEST_F(WaitRegistryTest, ThoseTogetherAreToldWhatTheMessageSays) {
  together({first, second}, 0);
  registry.message(kChannel, "0").run();
  EXPECT_EQ(first->told, Told{"message 0"});
  EXPECT_EQ(second->told, Told{"message 0"});
}

TEST_F(WaitRegistryTest, AsManyAreToldAsAMessageHasPermitsFor) {
  together({first, second, third}, 2);
  registry.message(kChannel, "5").run();
  EXPECT_EQ(first->told, Told{"message 5"});
  EXPECT_EQ(second->told, Told{"message 5"});
  EXPECT_EQ(third->told, Told{});
}

TEST_F(WaitRegistryTest, WhoNeedsMoreThanThereIsIsPassedOver) {
  together({first, second, third}, 1);
  first->wanted = 3;
  registry.message(kChannel, "2").run();
  EXPECT_EQ(first->told, Told{});
  EXPECT_EQ(second->told, Told{"message 2"});
  EXPECT_EQ(third->told, Told{"message 2"});
}

TEST_F(WaitRegistryTest, AMessageOfNoPermitsIsForNobody) {
  together({first}, 1);
  for (const char* payload : {"0", "-1", "-9223372036854775808"}) {
    registry.message(kChannel, payload).run();
  }
  EXPECT_EQ(first->told, Told{});
}

TEST_F(WaitRegistryTest, AMessageThatIsNoNumberMayBeForEverybody) {
  together({first, second}, 7);
  for (const char* payload : {"x", "1x", "99999999999999999999"}) {
    registry.message(kChannel, payload).run();
  }
  EXPECT_EQ(first->told, (Told{"message x", "message 1x", "message 99999999999999999999"}));
  EXPECT_EQ(second->told.size(), 3U);
}

TEST_F(WaitRegistryTest, WhatIsLeftOverIsForThoseWhoCanUseIt) {
  together({first, second}, 1);
  first->wanted = 3;
  registry.left_over(kChannel, 2).run();
  registry.left_over(kChannel, 0).run();
  registry.left_over("other", 2).run();
  EXPECT_EQ(first->told, Told{});
  EXPECT_EQ(second->told, Told{"signal"});
}

TEST_F(WaitRegistryTest, WhoLeavesWithASignalNotActedUponPassesItsPermitsOn) {
  together({first, second, third}, 1);
  first->wanted = 2;
  leave(*first, Departure::kTrying);
  EXPECT_EQ(second->told, Told{"signal"});
  EXPECT_EQ(third->told, Told{"signal"});
}

TEST_F(WaitRegistryTest, WhatALeaverWasToldTooLateIsForThoseWhoAreThere) {
  together({second, third}, 1);
  first->wanted = 1;
  registry.not_for(kChannel, *first).run();
  EXPECT_EQ(second->told, Told{"signal"});
  EXPECT_EQ(third->told, Told{});
}

TEST_F(WaitRegistryTest, WhatALeaverWasToldTooLateIsForTheHead) {
  queue({second, third});
  registry.not_for(kChannel, *first).run();
  EXPECT_EQ(second->told, Told{"signal"});
  EXPECT_EQ(third->told, Told{});
}

TEST_F(WaitRegistryTest, WhoLeavesAsleepOrWithItsPermitsTellsNobody) {
  together({first, second, third}, 1);
  leave(*first, Departure::kGaveUp);
  leave(*second, Departure::kGranted);
  EXPECT_EQ(third->told, Told{});
}

TEST_F(WaitRegistryTest, ASubscriptionRegainedWakesAllWhoWantPermits) {
  together({first, second}, 9);
  registry.subscribed(kChannel).run();
  EXPECT_EQ(first->told, Told{"signal"});
  EXPECT_EQ(second->told, Told{"signal"});
}

TEST_F(WaitRegistryTest, AfterItsHandOversTheHeadLetsOtherClientsGoFirst) {
  queue({first});
  for (int i = 0; i < 16; ++i) (void)registry.heir(kChannel, kZero);
  EXPECT_EQ(registry.heir(kChannel, kZero), nullptr);
  registry.message(kChannel).run();
  EXPECT_EQ(first->told, Told{"turn at another time"});
  registry.told(kChannel, 2, kLater - Millis(2)).run();
  registry.message(kChannel).run();
  EXPECT_EQ(first->told, (Told{"turn at another time", "turn", "turn"}));
}

TEST_F(WaitRegistryTest, AfterItsHandOversTheHeadGoesOnWhereThereIsNobodyElse) {
  queue({first});
  for (int i = 0; i < 16; ++i) (void)registry.heir(kChannel, kZero);
  EXPECT_EQ(registry.heir(kChannel, kZero), nullptr);
  registry.told(kChannel, 1, kZero).run();
  registry.message(kChannel).run();
  EXPECT_EQ(first->told, (Told{"signal", "signal"}));
}

TEST_F(WaitRegistryTest, ARefusedChannelFailsItsWaiters) {
  (void)registry.join(kChannel, first, {});
  (void)registry.join(kChannel, second, {});
  (void)registry.join("other", third, {});
  registry.refused(kChannel, Status::server("NOPERM", "no")).run();
  EXPECT_EQ(first->told, Told{"failure: no"});
  EXPECT_EQ(second->told, Told{"failure: no"});
  EXPECT_EQ(third->told, Told{});
  EXPECT_EQ(registry.join(kChannel, first, {}), Place::kHead);
}

TEST_F(WaitRegistryTest, AnUnreachableServerFailsAllWaiters) {
  queue({first, second});
  (void)registry.join("other", third, {});
  registry.unreachable(Status::unreachable("no server")).run();
  EXPECT_EQ(first->told, Told{"failure: no server"});
  EXPECT_EQ(second->told, Told{"failure: no server"});
  EXPECT_EQ(third->told, Told{"failure: no server"});
}

TEST_F(WaitRegistryTest, WhoStandsApartIsToldOfTheEndOnly) {
  using Crowd = WaitRegistry::Crowd;
  EXPECT_EQ(registry.join(kChannel, first, {}, Crowd::kApart), Place::kHead);
  EXPECT_EQ(registry.join(kChannel, second, {}, Crowd::kApart), Place::kHead);
  EXPECT_EQ(asked, Told{});
  EXPECT_EQ(registry.heir(kChannel, kZero), nullptr);
  EXPECT_EQ(registry.holds_back(kChannel), TimePoint{});
  registry.subscribed(kChannel).run();
  registry.message(kChannel).run();
  registry.unreachable(Status::unreachable("no server")).run();
  EXPECT_EQ(first->told, Told{});
  leave(*second, Departure::kGaveUp);
  EXPECT_EQ(asked, Told{});
  registry.closed(Status::closed("closed")).run();
  EXPECT_EQ(first->told, Told{"failure: closed"});
  EXPECT_EQ(second->told, Told{});
}

TEST_F(WaitRegistryTest, TheEndFailsThoseInTurnToo) {
  queue({first, second});
  registry.closed(Status::closed("closed")).run();
  EXPECT_EQ(first->told, Told{"failure: closed"});
  EXPECT_EQ(second->told, Told{"failure: closed"});
}

TEST_F(WaitRegistryTest, TheHeirIsTheHead) {
  EXPECT_EQ(registry.heir(kChannel, kZero), nullptr);
  queue({first, second});
  EXPECT_EQ(registry.heir(kChannel, kZero), first);
}

TEST_F(WaitRegistryTest, AfterSixteenHandOversItIsTheOthersTurnOnce) {
  queue({first});
  for (int i = 0; i < 16; ++i) EXPECT_EQ(registry.heir(kChannel, kZero), first) << i;
  EXPECT_EQ(registry.heir(kChannel, kZero), nullptr);
  EXPECT_EQ(registry.heir(kChannel, kZero), first);
}

TEST_F(WaitRegistryTest, AfterTenMillisecondsOfHandOversItIsTheOthersTurnOnce) {
  queue({first});
  EXPECT_EQ(registry.heir(kChannel, kZero), first);
  EXPECT_EQ(registry.heir(kChannel, kZero + Millis(9)), first);
  EXPECT_EQ(registry.heir(kChannel, kZero + Millis(10)), nullptr);
  EXPECT_EQ(registry.heir(kChannel, kZero + Millis(11)), first);
}

}  // namespace
}  // namespace holdfast::wait
