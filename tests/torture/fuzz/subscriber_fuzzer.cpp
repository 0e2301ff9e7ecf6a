// A pub/sub stream: the greeting, confirmations, messages and pushes, passed on to the registry of
// waiters, among them one that counts permits.

#include <set>
#include <string>

#include "byte_stream.h"
#include "locks/wait/wait_registry.h"
#include "redis/client/subscriber.h"
#include "support/manual_clock.h"

namespace holdfast {
namespace {

constexpr const char* kChannels[] = {"redisson_lock__channel:{a}", "redisson_sc:{a}"};

class NoSubscriptions final : public wait::Subscriptions {
 public:
  void subscribe(const std::string& /*channel*/) override {}
  void release(const std::string& /*channel*/, Duration /*linger*/) override {}
  void expect(const std::string& /*channel*/) override {}
};

class Permits final : public wait::Waiter {
 public:
  Permits() { wants = 2; }
  void on_signal() override {}
  void on_turn(TimePoint /*retry_at*/) override {}
  void on_failure(const Status& /*why*/) override {}
};

class Sink final : public client::Subscriber::Sink {
 public:
  Sink() {
    using Policy = wait::Waiting;
    for (const char* channel : kChannels) {
      registry_.join(channel, std::make_shared<Permits>(), std::nullopt, Policy::kTogether);
      registry_.join(channel, std::make_shared<Permits>(), std::nullopt, Policy::kInTurn);
    }
  }
  void on_subscribed(const std::string& channel, TimePoint asked, bool fresh) override {
    registry_.subscribed(channel, asked, fresh).run();
  }
  void on_message(const std::string& channel, std::string_view payload) override {
    registry_.message(channel, payload).run();
  }
  void on_refused(const std::string& channel, const Status& why) override {
    registry_.refused(channel, why).run();
  }
  void on_unreachable(const std::set<std::string>& channels, const Status& why) override {
    for (const std::string& channel : channels) registry_.unreachable(channel, why).run();
  }
  bool on_released(const std::string& channel) override { return registry_.released(channel); }
  void on_lost() override {}

 private:
  NoSubscriptions none_;
  wait::WaitRegistry registry_{none_};
};

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast;
  if (size == 0) return 0;
  const unsigned mode = data[0] % 3U;
  fuzz::Pieces pieces(data + 1, size - 1);
  ManualClock clock;
  fuzz::NoLoop loop;
  const auto sink = std::make_shared<Sink>();
  client::StreamOptions options;
  options.resp3 = data[0] >= 128;
  const auto subscriber = std::make_shared<client::Subscriber>(
      clock, loop, options, sink, [&pieces](const client::StreamOptions&) {
        return std::make_unique<fuzz::PieceTransport>(pieces);
      });
  subscriber->set_mode(static_cast<client::PubSub>(mode));
  for (const char* channel : kChannels) subscriber->subscribe(channel);
  constexpr int kMostSteps = 500;
  for (int step = 0; step < kMostSteps && !pieces.empty(); ++step) {
    subscriber->step(clock.now());
    clock.advance(Millis(20));
  }
  subscriber->close();
  subscriber->step(clock.now());
  return 0;
}
