// Grants by releases of other clients: their messages, and the waiters that they reach.

#include "wait/registry_fixture.h"

namespace holdfast::wait {
namespace {

constexpr OwnerNumber kAlice{7};
constexpr OwnerNumber kBob{8};

TEST(GrantTest, ReadsWhatAReleasePublishes) {
  const auto grant = parse_grant("1099511627776 1790000000000000 2000");
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->owner, OwnerNumber{1099511627776});
  EXPECT_EQ(grant->place, 1790000000000000);
  EXPECT_EQ(grant->lease, Millis(2000));
  EXPECT_FALSE(grant->token);
  EXPECT_EQ(parse_grant("1 2 3 9223372036854775807")->token, INT64_MAX);
}

TEST(GrantTest, TakesNoOtherMessageForOne) {
  for (const char* text : {"", "0", "1 2", "1 2 ", "1 2 3 ", "1 2 3x", "1 2 3 4 5", "a 2 3",
                           " 1 2 3", "1 2 0", "1 -2 3", "1 2 99999999999999999999"}) {
    EXPECT_FALSE(parse_grant(text)) << text;
  }
}

// A waiter that may be in line.
class InLine final : public Waiter {
 public:
  explicit InLine(OwnerNumber owner) : owner_(owner) {}
  void on_signal() override { ++signals; }
  void on_turn(TimePoint /*retry_at*/) override {}
  void on_failure(const Status& /*why*/) override {}
  bool awaits_grants() const override { return true; }
  bool awaits_grant(OwnerNumber owner) const override { return owner == owner_; }
  void on_grant(const Grant& grant) override { places.push_back(grant.place); }

  int signals = 0;
  std::vector<std::int64_t> places;

 private:
  const OwnerNumber owner_;
};

class GrantsTest : public WaitRegistryTest {
 protected:
  void subscribe_grants(const std::string& channel) override {
    asked.push_back("subscribe grants of " + channel);
  }
};

TEST_F(GrantsTest, TheFirstWaiterThatAwaitsThemSubscribesBeforeTheMessages) {
  (void)registry.join(kChannel, std::make_shared<InLine>(kAlice), {});
  (void)registry.join(kChannel, std::make_shared<InLine>(kBob), {});
  EXPECT_EQ(asked, (Notified{"subscribe grants of channel", "subscribe channel"}));
}

TEST_F(GrantsTest, AGrantReachesItsOwnerWhereverThatIsInTheQueue) {
  const auto alice = std::make_shared<InLine>(kAlice);
  const auto bob = std::make_shared<InLine>(kBob);
  (void)registry.join(kChannel, alice, {});
  (void)registry.join(kChannel, bob, {});
  registry.granted(kChannel, {kBob, 5, Millis(2000)}).run();
  EXPECT_TRUE(alice->places.empty());
  EXPECT_EQ(bob->places, (std::vector<std::int64_t>{5}));
  EXPECT_EQ(alice->signals + bob->signals, 0);
}

// Between the attempt that was refused and the queue it would be missed.
TEST_F(GrantsTest, AGrantThatComesBeforeItsWaiterMakesItTry) {
  (void)registry.join(kChannel, std::make_shared<InLine>(kAlice), {});
  registry.subscribed(kChannel).run();
  const auto seen = registry.sequence(kChannel);
  registry.granted(kChannel, {kBob, 5, Millis(2000)}).run();
  const auto alone = std::make_shared<InLine>(kBob);
  EXPECT_EQ(registry.join(kChannel, alone, seen), Place::kQueued);
  EXPECT_NE(registry.sequence(kChannel), seen);
}

TEST_F(GrantsTest, AGrantForNoWaiterIsIgnored) {
  registry.granted(kChannel, {kBob, 5, Millis(2000)}).run();
  EXPECT_FALSE(registry.has_queue(kChannel));
}

}  // namespace
}  // namespace holdfast::wait
