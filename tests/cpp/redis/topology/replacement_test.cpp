// When, and how, another server is looked for behind an address that stays.

#include "redis/topology/replacement.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/scripted_peer.h"
#include "support/world.h"

namespace holdfast::topology {
namespace {

class LookRateTest : public ::testing::Test {
 protected:
  // One look that finds nothing; how long the next one has to wait.
  Duration look() {
    rate.wish(now);
    now = std::max(now, rate.until());
    EXPECT_TRUE(rate.due(now));
    rate.begin();
    rate.ended(now);
    rate.wish(now);
    return rate.until() - now;
  }

  TimePoint now{std::chrono::hours(1)};
  LookRate rate;
};

TEST_F(LookRateTest, TheFirstLookIsAtOnceAndNoneComesWithoutASign) {
  EXPECT_EQ(rate.until(), kNever);
  rate.wish(now);
  EXPECT_TRUE(rate.due(now));
  rate.begin();
  rate.ended(now);
  EXPECT_EQ(rate.until(), kNever);
}

TEST_F(LookRateTest, LooksAreTenMillisecondsApartAndLaterASecond) {
  const Duration first = look();
  EXPECT_GE(first, Millis(5));
  EXPECT_LE(first, Millis(10));
  for (int i = 0; i < 10; ++i) look();
  const Duration later = look();
  EXPECT_GE(later, Millis(500));
  EXPECT_LE(later, Millis(1000));
}

TEST_F(LookRateTest, AfterAMinuteWithoutAWriteTheyAreTenSecondsApart) {
  look();
  now = after(now, Millis(60'000));
  EXPECT_EQ(look(), Millis(10'000));
  rate.accepted();
  EXPECT_LE(look(), Millis(10));
}

// What is at the address says its role, or refuses to.
class Server final : public simulation::Peer {
 public:
  bool up() const override { return is_up; }
  void arrived(const std::shared_ptr<simulation::Wire>& wire,
               std::vector<simulation::Command> commands) override {
    for (const simulation::Command& command : commands) {
      const std::string& word = command.words.front();
      if (word == "HELLO" || word == "ROLE") wire->reply(role);
    }
  }

  bool is_up = true;
  std::string role = "*1\r\n$5\r\nslave\r\n";
};

class ReplacementTest : public ::testing::Test {
 protected:
  ReplacementTest() {
    network.weather.slow_per_mille = 0;
    client::StreamOptions link;
    link.address = {"a", 1, {}};
    replacement = std::make_shared<Replacement>(
        world, loop, link, [](std::string_view error) { return error == "READONLY no"; },
        [this](const client::StreamOptions& o) { return network.open(o.address.host); });
    replacement->start({[this] { ++replaced; }, [this] { ++stayed; }});
  }
  ~ReplacementTest() override {
    replacement->close();
    loop.run(Millis(10));
    loop.stop();
  }

  simulation::World world{1};
  Server server;
  simulation::Network network{world, server};
  simulation::SteppedLoop loop{world, network};
  std::shared_ptr<Replacement> replacement;
  int replaced = 0;
  int stayed = 0;
};

TEST_F(ReplacementTest, AReplicaReplacesNothing) {
  const auto look = replacement->report();
  EXPECT_NE(look, 0U);
  EXPECT_FALSE(replacement->over(look));
  loop.run(Millis(20));
  EXPECT_TRUE(replacement->over(look));
  EXPECT_EQ(stayed, 1);
  EXPECT_EQ(replaced, 0);
  EXPECT_TRUE(network.open_wires().empty()) << "the connection is of no use any more";
}

TEST_F(ReplacementTest, APrimaryAndAServerThatDoesNotSayAreTaken) {
  for (const char* role : {"*1\r\n$6\r\nmaster\r\n", "-NOPERM no\r\n"}) {
    server.role = role;
    replaced = 0;
    replacement->accepted();
    loop.run(Millis(2000));
    EXPECT_NE(replacement->report(), 0U);
    loop.run(Millis(20));
    EXPECT_EQ(replaced, 1) << role;
  }
}

TEST_F(ReplacementTest, ASignDuringALookBelongsToItAndOneAfterItToTheNext) {
  const auto look = replacement->report();
  EXPECT_EQ(replacement->report(), look);
  for (int i = 0; i < 100 && !replacement->over(look); ++i) loop.run(Millis(1));
  EXPECT_EQ(replacement->report(), 0U) << "a rest lies before the next one";
  loop.run(Millis(50));
  EXPECT_EQ(stayed, 2) << "which comes all the same";
}

TEST_F(ReplacementTest, NoConnectionReplacesNothing) {
  server.is_up = false;
  const auto look = replacement->report();
  loop.run(Millis(20));
  EXPECT_TRUE(replacement->over(look));
  EXPECT_EQ(stayed, 1);
}

TEST_F(ReplacementTest, AClosedOneLooksForNothing) {
  replacement->close();
  EXPECT_EQ(replacement->report(), 0U);
  loop.run(Millis(20));
  EXPECT_EQ(network.wires().size(), 0U);
}

}  // namespace
}  // namespace holdfast::topology
