#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "interleavings/scheduler.h"
#include "locks/lease/lease_keeper.h"
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
  void introduce(lease::LeaseKeeper& keeper, TimePoint now) {
    lease::Grant grant{LockName("key of the client"),      OwnerNumber{1}, 1, Lease{}, now,
                       sync::client_key_recipe().holding()};
    grant.counted = false;
    keeper.attempts().introduce(grant, "what it says");
  }

  const NoNetwork network_;
  simulation::NoLoop loop_;
};

// It is no lock of a caller's, whose names the end of the client is to report.
TEST_F(KeeperTest, TheEndOfAClientNeverNamesItsOwnKey) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    World world(seed);
    Scheduler scheduler(world, network_, seed);
    scheduler.heading = "seed " + std::to_string(seed);
    lease::LeaseKeeper keeper(world, loop_, "client", std::make_shared<NoEvents>());
    std::vector<std::string> named;
    scheduler.add("first call", [&] { introduce(keeper, world.now()); });
    scheduler.add("close", [&] {
      keeper.begin_close([] {});
      named = keeper.close({});
    });
    scheduler.run();
    EXPECT_EQ(named, std::vector<std::string>()) << seed;
  }
}

}  // namespace
}  // namespace holdfast::interleavings
