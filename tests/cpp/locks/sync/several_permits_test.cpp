// Several permits of one acquisition: each is a hold, and all go back when their caller has left.

#include <utility>
#include <vector>

#include "locks/sync/call_fixture.h"

namespace holdfast::sync {
namespace {

class SeveralPermitsTest : public CallFixture {
 protected:
  void SetUp() override {
    set_up(CallerKind::kTask, {"permit", &permit_kind().renewed, "*2\r\n:1\r\n:3000\r\n"});
  }
  ExchangePtr three() const {
    AcquireRequest request(lock, AcquireArguments{kAlice, kLease, false});
    request.amount = 3;
    return simulation::acquire_call(context, std::move(request));
  }
  static OwnerNumber nth(std::int64_t place) { return owner_after(kAlice, place); }
  std::vector<int> counts() const { return {count(nth(0)), count(nth(1)), count(nth(2))}; }
};

TEST_F(SeveralPermitsTest, EachIsAHold) {
  run(three(), {granted});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(counts(), (std::vector{1, 1, 1}));
  EXPECT_EQ(count(nth(3)), 0);
}

TEST_F(SeveralPermitsTest, EachIsRequestedWhereTheCommandForOneIsKept) {
  for (const OwnerNumber each : {nth(10), nth(11)}) acquire({granted}, each);
  script.got.clear();
  run(three(), {granted});
  EXPECT_EQ(counts(), (std::vector{1, 1, 1}));
  for (const std::int64_t place : {0, 1, 2}) {
    EXPECT_NE(script.got.find(permit_id("client", nth(place))), std::string::npos) << place;
  }
}

TEST_F(SeveralPermitsTest, AllGoBackWhenTheirCallerHasLeftByThen) {
  run(three(), {granted});
  script.got.clear();
  begun->cancel();
  serve({kReleased, kReleased, kReleased});
  EXPECT_EQ(counts(), (std::vector{0, 0, 0}));
  for (const std::int64_t place : {0, 1, 2}) {
    EXPECT_NE(script.got.find(permit_id("client", nth(place))), std::string::npos) << place;
  }
}

TEST_F(SeveralPermitsTest, AllGoBackByOneCommandWhenTheirCallerLeavesBeforeTheReply) {
  leave(three());
  script.got.clear();
  serve({granted, kReleased});
  EXPECT_EQ(counts(), (std::vector{0, 0, 0}));
  std::string all;
  for (const std::int64_t place : {0, 1, 2}) all += permit_id("client", nth(place));
  EXPECT_NE(script.got.find(all), std::string::npos);
}

TEST_F(SeveralPermitsTest, TooFewForOneWaiterAreForTheNext) {
  AcquireRequest many(lock, AcquireArguments{kAlice, kLease});
  many.amount = 3;
  const auto first = simulation::acquire_call(context, std::move(many));
  const auto next = acquire_call(kBob, true);
  for (const ExchangePtr& each : {first, next}) {
    each->finish_to(std::make_shared<KeptOutcome>(), kId);
    serve({kHeld});
  }
  script.got.clear();
  context->waits->message(lock->channel()).run();
  serve({"*2\r\n:-1\r\n:2000\r\n", granted});
  EXPECT_EQ(count(kBob), 1);
  EXPECT_EQ(count(kAlice), 0);
  first->cancel();
}

}  // namespace
}  // namespace holdfast::sync
