#include "locks/base/trace.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "locks/lease/keeper_fixture.h"

namespace holdfast::lease {
namespace {

using Step = TraceEntry::Step;

class Kept final : public TraceSink {
 public:
  Kept() { Trace::set_sink(this); }
  ~Kept() override { Trace::set_sink(nullptr); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  void record(const TraceEntry& entry) override {
    EXPECT_EQ(entry.name, "lock");
    EXPECT_EQ(entry.owner, kAlice);
    steps.push_back(entry.step);
    until = entry.until;
  }

  std::vector<Step> steps;
  TimePoint until{};  // of the newest
};

class TraceTest : public LeaseKeeperTest {
 protected:
  Kept kept;
};

TEST_F(TraceTest, AHoldThatIsRenewedAndReleasedIsRecordedStepByStep) {
  renewed(kAlice);
  EXPECT_EQ(kept.until, trusted_until(world.now(), kLease));
  pass(kLease / 3 + kSoon);
  release(kAlice);
  EXPECT_EQ(kept.steps, (std::vector{Step::kGranted, Step::kRenewed, Step::kReleased}));
}

TEST_F(TraceTest, AnExtensionIsRecordedWhenItBeginsAndWhenItIsConfirmed) {
  fixed(kAlice, Millis(1000));
  const std::uint32_t number = keeper().begin_extension(name, kAlice, Millis(500));
  EXPECT_EQ(kept.until, trusted_until(world.now(), Millis(500)));
  keeper().extended(name, kAlice, {number, Millis(500)}, world.now());
  EXPECT_EQ(kept.steps, (std::vector{Step::kGranted, Step::kExtended, Step::kExtended}));
}

TEST_F(TraceTest, ALossIsRecordedOnce) {
  fixed(kAlice, Millis(1000));
  pass(Millis(3000));
  EXPECT_EQ(kept.steps, (std::vector{Step::kGranted, Step::kLost}));
}

TEST_F(TraceTest, WithoutASinkNothingIsRecorded) {
  Trace::set_sink(nullptr);
  renewed(kAlice);
  EXPECT_TRUE(kept.steps.empty());
}

}  // namespace
}  // namespace holdfast::lease
