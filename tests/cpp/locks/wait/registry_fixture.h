#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "locks/wait/wait_registry.h"

namespace holdfast::wait {

using Place = WaitRegistry::Place;

inline const std::string kChannel = "channel";
constexpr TimePoint kZero{std::chrono::hours(1)};
constexpr TimePoint kLater = kZero + Millis(500);

// Records the calls that it gets.
class Sleeper final : public Waiter {
 public:
  void on_signal() override { notified.emplace_back("signal"); }
  void on_turn(TimePoint retry_at) override {
    notified.push_back(retry_at == kLater ? "turn" : "turn at another time");
  }
  void on_failure(const Status& why) override { notified.push_back("failure: " + why.message()); }

  void on_message(std::string_view payload) override {
    notified.push_back(payload.empty() ? "signal" : "message " + std::string(payload));
  }

  std::vector<std::string> notified;
};

using Notified = std::vector<std::string>;

class WaitRegistryTest : public ::testing::Test, public Subscriptions {
 protected:
  void subscribe(const std::string& channel) override { asked.push_back("subscribe " + channel); }
  void release(const std::string& channel, Duration linger) override {
    const auto milliseconds = std::chrono::duration_cast<Millis>(linger).count();
    asked.push_back("release " + channel + " after " + std::to_string(milliseconds));
  }
  void expect(const std::string& channel) override { asked.push_back("expect " + channel); }

  void leave(const Sleeper& waiter, LeaveReason why) {
    registry.leave(kChannel, waiter, why, kLater).run();
  }
  // A queue of `waiters`, subscribed, whose head knows nothing new.
  void queue(const std::vector<std::shared_ptr<Sleeper>>& waiters) {
    for (const auto& waiter : waiters) (void)registry.join(kChannel, waiter, {});
    registry.subscribed(kChannel).run();
    for (const auto& waiter : waiters) waiter->notified.clear();
  }

  // These `waiters` stand together, subscribed, and want `wanted` permits each.
  void together(const std::vector<std::shared_ptr<Sleeper>>& waiters, std::int64_t wanted) {
    for (const auto& waiter : waiters) {
      (void)registry.join(kChannel, waiter, {}, Waiting::kTogether);
    }
    registry.subscribed(kChannel).run();
    for (const auto& waiter : waiters) {
      waiter->notified.clear();
      waiter->wants = wanted;
    }
  }

  WaitRegistry registry{*this};
  std::vector<std::string> asked;
  const std::shared_ptr<Sleeper> first = std::make_shared<Sleeper>();
  const std::shared_ptr<Sleeper> second = std::make_shared<Sleeper>();
  const std::shared_ptr<Sleeper> third = std::make_shared<Sleeper>();
};

}  // namespace holdfast::wait
