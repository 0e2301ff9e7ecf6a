// The warning that a semaphore has another number of permits than its object sets up.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "locks/sync/call_fixture.h"

namespace holdfast::sync {
namespace {

class SetupPermitsTest : public CallFixture, public ::testing::WithParamInterface<CallerKind> {
 protected:
  void SetUp() override { set_up(GetParam(), {"permit", &permit_kind().renewed, kFiveThere}); }
  ExchangePtr one() const {
    AcquireRequest request(lock, AcquireArguments{kAlice, kLease, false});
    request.setup = wanted;
    return simulation::acquire_call(context, std::move(request));
  }
  std::int64_t warnings() const {
    return std::count_if(events->all.begin(), events->all.end(),
                         [](const Event& event) { return event.kind == Event::Kind::kPermits; });
  }

  inline static const std::string kFiveThere = "*3\r\n:4\r\n:3000\r\n:5\r\n";
  const std::shared_ptr<std::atomic<std::int64_t>> wanted =
      std::make_shared<std::atomic<std::int64_t>>(3);
};

TEST_P(SetupPermitsTest, NamesANumberThatIsNotTheOneThatWasSent) {
  run(one(), {kFiveThere});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(warnings(), 1);
}

TEST_P(SetupPermitsTest, IsSilentAboutANumberThatItsObjectHasSetMeanwhile) {
  meanwhile([this] { *wanted = 5; }, one(), {kFiveThere});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(warnings(), 0);
}

TEST_P(SetupPermitsTest, IsSilentWhereItsObjectSetsAnotherOneBeforeTheReply) {
  meanwhile([this] { *wanted = 9; }, one(), {kFiveThere});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(warnings(), 0) << "by then the server may have nine";
}

TEST_P(SetupPermitsTest, IsSilentAboutARefusalThatAnotherNumberFollows) {
  meanwhile([this] { *wanted = 9; }, one(), {"*3\r\n:-1\r\n:3000\r\n:5\r\n"});
  EXPECT_EQ(verdict(), Verdict::kBusy);
  EXPECT_EQ(warnings(), 0);
}

INSTANTIATE_TEST_SUITE_P(Callers, SetupPermitsTest,
                         ::testing::Values(CallerKind::kThread, CallerKind::kTask),
                         [](const auto& each) {
                           return each.param == CallerKind::kThread ? "thread" : "task";
                         });

}  // namespace
}  // namespace holdfast::sync
