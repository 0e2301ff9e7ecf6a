#include "locks/lease/keeper.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "interleavings/scheduler.h"
#include "locks/sync/recipes/kinds.h"
#include "support/scripted_stream.h"

namespace holdfast::interleavings {
namespace {

class NoNetwork final : public Readiness {
 public:
  bool ready(const net::Interest& /*interest*/) const override { return false; }
};

class NoEvents final : public EventSink {
 public:
  void post(Event /*event*/) override {}
};

// A keeper of the engine whose loop runs nothing.
class KeeperTest : public ::testing::Test {
 protected:
  const NoNetwork network_;
  simulation::NoLoop loop_;
};

// It is no lock of a caller's, whose names the end of the client is to report.
TEST_F(KeeperTest, TheEndOfAClientNeverNamesItsOwnKey) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    World world(seed);
    Scheduler scheduler(world, network_, seed);
    scheduler.heading = "seed " + std::to_string(seed);
    const auto keeper =
        std::make_shared<lease::Keeper>(world, loop_, "client", std::make_shared<NoEvents>());
    keeper->notes.set_up(
        {"what it says", Millis(3000), sync::client_key_recipe().holding, Millis(1000), false});
    std::vector<std::string> named;
    scheduler.add("first call", [&] { (void)keeper->notes.keep_client_key(); });
    scheduler.add("close", [&] {
      keeper->begin_close([] {});
      named = keeper->close({});
    });
    scheduler.run();
    EXPECT_EQ(named, std::vector<std::string>()) << seed;
  }
}

}  // namespace
}  // namespace holdfast::interleavings
