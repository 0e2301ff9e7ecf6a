// The life of a release, as the table in locks/sync/operation/release.h has it: each state, and
// what changes it.

#include "locks/sync/operation/release.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "locks/sync/call_fixture.h"

namespace holdfast::sync {
namespace {

enum class Life { kAwaited, kLeft, kPending };

constexpr std::size_t kLives = 3;

class ReleaseLifeTest : public CallFixture {
 public:
  ReleaseLifeTest() { set_up(CallerKind::kTask, kinds_with_holds().front()); }

  // Alice's release has come to that state, its command in line.
  void begin(Life life) {
    acquire({granted});
    const HoldRelease::Order what{kAlice, {}, life == Life::kLeft};
    release = std::make_shared<HoldRelease>(context, lock, what);
    kept = std::make_shared<KeptOutcome>();
    release->finish_to(kept, kId);
    serve({});
    (void)context->timers->step(script.clock.now());
    if (life == Life::kPending) no_reply();
  }
  void answer(const std::string& reply) { serve({reply}); }
  // The greeting of its connection, until its deadline.
  void refused_greeting() {
    release->complete(Status::server("WRONGPASS", "another password"), {});
  }
  void no_reply() { release->complete(Status::unreachable("no reply"), {}); }
  // Its owner's next attempt.
  void take_over() {
    lease::Attempt attempt(keeper(), lock->name, kAlice);
    (void)attempt.begin();
    EXPECT_TRUE(release->revoked());
    release->complete(Status::revoked(), {});
  }
  // What its caller has got.
  std::string got() const {
    if (!kept->last) return "nothing";
    return kept->last->verdict == Verdict::kGranted ? "done" : "error";
  }

  std::shared_ptr<HoldRelease> release;
};

struct Row {
  std::string event;
  std::function<void(ReleaseLifeTest&)> happens;
  // From awaited, left and pending: what its caller has got by then, and whether the server is
  // still to answer something.
  std::vector<std::string> caller;
  std::vector<bool> pending;
};

class ReleaseLife : public ReleaseLifeTest,
                    public ::testing::WithParamInterface<std::tuple<std::size_t, std::size_t>> {
 public:
  static const std::vector<Row>& rows() {
    const auto reply = [](const std::string& text) {
      return [text](ReleaseLifeTest& of) { of.answer(text); };
    };
    const auto call = [](void (ReleaseLifeTest::*event)()) {
      return [event](ReleaseLifeTest& of) { (of.*event)(); };
    };
    const std::vector<std::string> none{"nothing", "done", "error"};
    const std::vector<bool> goes_on{true, true, true};
    const std::vector<bool> ends{false, false, false};
    const auto refused = call(&ReleaseLifeTest::refused_greeting);
    static const std::vector<Row> all{
        {"nothing", [](ReleaseLifeTest&) {}, none, goes_on},
        {"reply", reply(kReleased), {"done", "done", "error"}, ends},
        {"not_there", reply(kNil), {"error", "done", "error"}, ends},
        {"refused_for_now", reply("-LOADING it starts\r\n"), none, goes_on},
        {"refused_for_memory", reply("-OOM no memory is left\r\n"), none, goes_on},
        {"refused_for_the_password", reply("-NOAUTH log in first\r\n"), none, goes_on},
        {"refused_greeting", refused, none, goes_on},
        {"refused_for_good", reply("-NOPERM no rights\r\n"), {"error", "done", "error"}, ends},
        {"no_reply", call(&ReleaseLifeTest::no_reply), {"error", "done", "error"}, goes_on},
        {"taken_over", call(&ReleaseLifeTest::take_over), {"done", "done", "error"}, goes_on},
        {"cancelled", [](ReleaseLifeTest& of) { of.release->cancel(); }, none, goes_on},
    };
    return all;
  }
};

TEST_P(ReleaseLife, FollowsTheTable) {
  const Row& row = rows().at(std::get<0>(GetParam()));
  const std::size_t life = std::get<1>(GetParam());
  begin(static_cast<Life>(life));
  row.happens(*this);
  EXPECT_EQ(got(), row.caller.at(life));
  EXPECT_EQ(!keeper().is_idle(), row.pending.at(life));
  EXPECT_LE(kept->times, 1);
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<std::size_t, std::size_t>>& info) {
  const std::vector<std::string> lives{"awaited", "left", "pending"};
  return ReleaseLife::rows().at(std::get<0>(info.param)).event + "_" +
         lives.at(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Of, ReleaseLife,
                         ::testing::Combine(::testing::Range<std::size_t>(0, 11),
                                            ::testing::Range<std::size_t>(0, kLives)),
                         name_of);

class ReleaseWithoutCallerTest : public ReleaseLifeTest {};

TEST_F(ReleaseWithoutCallerTest, ItIsSentUntilTheServerHasAnswered) {
  begin(Life::kPending);
  script.got.clear();
  for (int time = 0; time < 3; ++time) {
    serve({"-LOADING it starts\r\n"});
    script.clock.advance(Millis(100));
    (void)context->timers->step(script.clock.now());
    serve({});
  }
  EXPECT_GE(script.count("client:7"), 3);
  serve({kReleased});
  EXPECT_TRUE(keeper().is_idle());
}

TEST_F(ReleaseWithoutCallerTest, ItIsNotSentBehindWhatItsOwnerDoesNext) {
  begin(Life::kPending);
  serve({"-LOADING it starts\r\n"});
  take_over();
  script.got.clear();
  script.clock.advance(Millis(100));
  (void)context->timers->step(script.clock.now());
  serve({});
  EXPECT_EQ(script.count("client:7"), 0);
}

TEST_F(ReleaseWithoutCallerTest, ItIsOverWithTheLease) {
  begin(Life::kPending);
  script.clock.advance(2 * kLease.time);
  no_reply();
  EXPECT_TRUE(keeper().is_idle());
  EXPECT_TRUE(keeper().known(lock->name, kAlice).lost);
}

class PartialReleaseTest : public ReleaseLifeTest {
 protected:
  // Of one of Alice's two holds; the server refuses it for now.
  void refuse_for_now() {
    begin_partial();
    serve({"-LOADING it starts\r\n"});
    script.got.clear();
  }
  void begin_partial() {
    acquire({granted});
    acquire({granted});
    release = std::make_shared<HoldRelease>(context, lock, HoldRelease::Order{kAlice});
    kept = std::make_shared<KeptOutcome>();
    release->finish_to(kept, kId);
    serve({});
  }
  void time_passes() {
    script.clock.advance(Millis(200));
    (void)context->timers->step(script.clock.now());
    serve({});
  }
};

TEST_F(PartialReleaseTest, WhoseCallerLeavesWhileItBacksOffIsNotSentAgain) {
  refuse_for_now();
  release->cancel();
  time_passes();
  EXPECT_EQ(script.got, "");
  EXPECT_EQ(count(), 1);
}

}  // namespace
}  // namespace holdfast::sync
