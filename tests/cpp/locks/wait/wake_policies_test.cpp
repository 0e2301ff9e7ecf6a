// Those who wait together, for a number of permits or for none, and those apart.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "locks/wait/registry_fixture.h"

namespace holdfast::wait {
namespace {

// Records its calls in a list that all waiters share.
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

TEST_F(WaitRegistryTest, ThoseTogetherAreNotifiedBeforeTheHead) {
  Notified order;
  (void)registry.join(kChannel, std::make_shared<Named>("writer", order), {});
  for (const char* reader : {"one reader", "another reader"}) {
    (void)registry.join(kChannel, std::make_shared<Named>(reader, order), {}, Waiting::kTogether);
  }
  registry.subscribed(kChannel).run();
  order.clear();
  registry.message(kChannel).run();
  EXPECT_EQ(order, (Notified{"one reader", "another reader", "writer"}));
}

TEST_F(WaitRegistryTest, ThoseTogetherAreAllNotifiedOfAMessage) {
  queue({first});
  EXPECT_EQ(registry.join(kChannel, second, registry.sequence(kChannel), Waiting::kTogether),
            Place::kHead);
  EXPECT_EQ(registry.join(kChannel, third, {}, Waiting::kTogether), Place::kTryNow);
  registry.message(kChannel).run();
  EXPECT_EQ(first->notified, Notified{"signal"});
  EXPECT_EQ(second->notified, Notified{"signal"});
  EXPECT_EQ(third->notified, Notified{"signal"});
  leave(*second, LeaveReason::kGranted);
  registry.message(kChannel).run();
  EXPECT_EQ(second->notified, Notified{"signal"});
  EXPECT_EQ(third->notified, (Notified{"signal", "signal"}));
}

TEST_F(WaitRegistryTest, ThoseTogetherReceiveTheMessage) {
  together({first, second}, 0);
  registry.message(kChannel, "0").run();
  EXPECT_EQ(first->notified, Notified{"message 0"});
  EXPECT_EQ(second->notified, Notified{"message 0"});
}

TEST_F(WaitRegistryTest, AMessageThatMayBeOlderThanAWaiterIsNoWordForIt) {
  first->since = kZero;
  second->since = kZero + Millis(20);
  (void)registry.join(kChannel, first, {}, Waiting::kTogether);
  registry.subscribed(kChannel, kZero + Millis(10)).run();
  (void)registry.join(kChannel, second, {}, Waiting::kTogether);
  EXPECT_EQ(asked, (Notified{"subscribe channel", "subscribe channel"}));
  first->notified.clear();
  registry.message(kChannel, "0").run();
  EXPECT_EQ(first->notified, Notified{"message 0"});
  EXPECT_EQ(second->notified, Notified{"signal"});
  (void)registry.subscribed(kChannel, kZero + Millis(30), false);
  registry.message(kChannel, "0").run();
  EXPECT_EQ(second->notified, (Notified{"signal", "message 0"}));
}

TEST_F(WaitRegistryTest, WhoOnlyTriesAfterAMessageIsSubscribedForOnce) {
  together({first, second, third}, 1);
  EXPECT_EQ(asked, Notified{"subscribe channel"});
}

TEST_F(WaitRegistryTest, AsManyAreNotifiedAsAMessageHasPermitsFor) {
  together({first, second, third}, 2);
  registry.message(kChannel, "5").run();
  EXPECT_EQ(first->notified, Notified{"message 5"});
  EXPECT_EQ(second->notified, Notified{"message 5"});
  EXPECT_EQ(third->notified, Notified{});
}

TEST_F(WaitRegistryTest, WhoNeedsMoreThanThereIsIsPassedOver) {
  together({first, second, third}, 1);
  first->wants = 3;
  registry.message(kChannel, "2").run();
  EXPECT_EQ(first->notified, Notified{});
  EXPECT_EQ(second->notified, Notified{"message 2"});
  EXPECT_EQ(third->notified, Notified{"message 2"});
}

TEST_F(WaitRegistryTest, AMessageOfNoPermitsWakesNoWaiter) {
  together({first}, 1);
  for (const char* payload : {"0", "-1", "-9223372036854775808"}) {
    registry.message(kChannel, payload).run();
  }
  EXPECT_EQ(first->notified, Notified{});
}

TEST_F(WaitRegistryTest, AMessageThatIsNoNumberMayBeForEverybody) {
  together({first, second}, 7);
  for (const char* payload : {"x", "1x", "99999999999999999999"}) {
    registry.message(kChannel, payload).run();
  }
  EXPECT_EQ(first->notified, (Notified{"message x", "message 1x", "message 99999999999999999999"}));
  EXPECT_EQ(second->notified.size(), 3U);
}

TEST_F(WaitRegistryTest, WhatIsLeftOverIsForThoseWhoCanUseIt) {
  together({first, second}, 1);
  first->wants = 3;
  registry.left_over(kChannel, 2).run();
  registry.left_over(kChannel, 0).run();
  registry.left_over("other", 2).run();
  EXPECT_EQ(first->notified, Notified{});
  EXPECT_EQ(second->notified, Notified{"signal"});
}

TEST_F(WaitRegistryTest, WhoLeavesWithASignalNotActedUponPassesItsPermitsOn) {
  together({first, second, third}, 1);
  first->wants = 2;
  leave(*first, LeaveReason::kTrying);
  EXPECT_EQ(second->notified, Notified{"signal"});
  EXPECT_EQ(third->notified, Notified{"signal"});
}

TEST_F(WaitRegistryTest, ACallThatComesAfterALeaverIsForThoseWhoAreThere) {
  together({second, third}, 1);
  first->wants = 1;
  registry.not_for(kChannel, *first).run();
  EXPECT_EQ(second->notified, Notified{"signal"});
  EXPECT_EQ(third->notified, Notified{});
}

TEST_F(WaitRegistryTest, ACallThatComesAfterALeaverIsForTheHead) {
  queue({second, third});
  registry.not_for(kChannel, *first).run();
  EXPECT_EQ(second->notified, Notified{"signal"});
  EXPECT_EQ(third->notified, Notified{});
}

TEST_F(WaitRegistryTest, AWaiterThatLeavesAsleepOrWithItsPermitsWakesNoOther) {
  together({first, second, third}, 1);
  leave(*first, LeaveReason::kGaveUp);
  leave(*second, LeaveReason::kGranted);
  EXPECT_EQ(third->notified, Notified{});
}

TEST_F(WaitRegistryTest, ASubscriptionRegainedWakesAllWhoWantPermits) {
  together({first, second}, 9);
  registry.subscribed(kChannel).run();
  EXPECT_EQ(first->notified, Notified{"signal"});
  EXPECT_EQ(second->notified, Notified{"signal"});
}

TEST_F(WaitRegistryTest, AWaiterApartIsCalledAtTheEndOnly) {
  EXPECT_EQ(registry.join(kChannel, first, {}, Waiting::kBackOff), Place::kHead);
  EXPECT_EQ(registry.join(kChannel, second, {}, Waiting::kBackOff), Place::kHead);
  EXPECT_EQ(asked, Notified{});
  EXPECT_EQ(registry.next_waiter(kChannel, kZero), nullptr);
  EXPECT_EQ(registry.holds_back(kChannel), TimePoint{});
  registry.subscribed(kChannel).run();
  registry.message(kChannel).run();
  registry.unreachable(kChannel, Status::unreachable("no server")).run();
  EXPECT_EQ(first->notified, Notified{});
  leave(*second, LeaveReason::kGaveUp);
  EXPECT_EQ(asked, Notified{});
  registry.closed(Status::closed("closed")).run();
  EXPECT_EQ(first->notified, Notified{"failure: closed"});
  EXPECT_EQ(second->notified, Notified{});
}

}  // namespace
}  // namespace holdfast::wait
