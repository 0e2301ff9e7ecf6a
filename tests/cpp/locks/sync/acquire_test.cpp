// The life of an acquisition, as the table in locks/sync/operation/acquire.h has it: each state,
// and what changes it.

#include "locks/sync/operation/acquire.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "locks/sync/call_fixture.h"

namespace holdfast::sync {
namespace {

enum class Life { kSent, kAsleep, kTrying, kGranted };

constexpr std::size_t kLives = 4;
const std::vector<std::string> kLifeNames{"sent", "asleep", "trying", "granted"};

class AcquireLifeTest : public CallFixture {
 public:
  AcquireLifeTest() { set_up(CallerKind::kTask, kinds_with_holds().front()); }
  ~AcquireLifeTest() override {  // what backs off has a timer, which keeps it
    if (call) call->cancel();
  }

  // Alice's acquisition has come to that state.
  void begin(Life life) {
    call = std::make_shared<Acquire>(context, AcquireRequest(lock, {kAlice, kLease}));
    kept = std::make_shared<KeptOutcome>();
    call->finish_to(kept, kId);
    serve({});
    if (life == Life::kGranted) return serve({granted});
    if (life == Life::kSent) return;
    serve({kHeld});
    if (life == Life::kTrying) message();
  }
  void message() {
    context->waits->message(lock->channel()).run();
    serve({});
  }
  void answer(const std::string& reply) { serve({reply}); }
  void late_grant() {
    script.clock.advance(kLease.time);
    serve({granted});
  }
  void no_reply() { call->complete(Status::unreachable("no reply"), {script.clock.now(), 1}); }
  void cancel() { call->cancel(); }
  void cancel_before_the_grant() {
    call->cancel();
    serve({granted});
  }
  void closes() {
    keeper().begin_close([] {});
    context->waits->closed(Status::closed("closed")).run();
  }
  void closes_before_the_grant() {
    keeper().begin_close([] {});
    serve({granted});
  }
  void another_call() {
    other = std::make_shared<KeptOutcome>();
    acquire_call()->finish_to(other, kId + 1);
  }

  // What its caller has got.
  std::string got() const {
    if (!kept->last) return "nothing";
    switch (kept->last->verdict) {
      case Verdict::kGranted:
        return "grant";
      case Verdict::kCancelled:
        return "cancelled";
      default:
        return "error";
    }
  }
  // Whether an attempt, or a release, is under way or pending.
  bool open() const { return !keeper().is_idle(); }

  std::shared_ptr<Acquire> call;
  std::shared_ptr<KeptOutcome> other;
};

// What its caller has got by then, how many holds there are, and whether something is still open.
struct Is {
  std::string caller;
  int holds = 0;
  bool open = false;
};

const Is kWaits{"nothing", 0, true};
const Is kGrant{"grant", 1, false};
const Is kError{"error", 0, false};
const Is kErrorAndRelease{"error", 0, true};
const Is kCancelledAndRelease{"cancelled", 0, true};
const Is kCannotBe{""};

struct Row {
  std::string event;
  std::function<void(AcquireLifeTest&)> happens;
  std::vector<Is> states;  // from sent, asleep, trying and granted
};

std::function<void(AcquireLifeTest&)> reply(const std::string& text) {
  return [text](AcquireLifeTest& of) { of.answer(text); };
}

std::function<void(AcquireLifeTest&)> call(void (AcquireLifeTest::*event)()) {
  return [event](AcquireLifeTest& of) { (of.*event)(); };
}

const std::vector<Row>& rows() {
  using Test = AcquireLifeTest;
  static const std::vector<Row> all{
      {"nothing", [](Test&) {}, {kWaits, kWaits, kWaits, kGrant}},
      {"grant", reply(kNil), {kGrant, kCannotBe, kGrant, kCannotBe}},
      {"held", reply(kHeld), {kWaits, kCannotBe, kWaits, kCannotBe}},
      {"late_grant",
       call(&Test::late_grant),
       {kErrorAndRelease, kCannotBe, kErrorAndRelease, kCannotBe}},
      {"refused_for_now", reply("-LOADING it starts\r\n"), {kWaits, kCannotBe, kWaits, kCannotBe}},
      {"refused_for_good", reply("-WRONGTYPE no hash\r\n"), {kError, kCannotBe, kError, kCannotBe}},
      {"no_reply",
       call(&Test::no_reply),
       {kErrorAndRelease, kCannotBe, kErrorAndRelease, kCannotBe}},
      {"message", call(&Test::message), {kWaits, kWaits, kWaits, kGrant}},
      {"cancelled",
       call(&Test::cancel),
       {kCancelledAndRelease, {"cancelled"}, kCancelledAndRelease, {"grant", 0, true}}},
      {"cancelled_before_the_grant",
       call(&Test::cancel_before_the_grant),
       {kCancelledAndRelease, kCannotBe, kCancelledAndRelease, kCannotBe}},
      {"closed", call(&Test::closes), {kWaits, kError, kErrorAndRelease, kGrant}},
      {"closed_before_the_grant",
       call(&Test::closes_before_the_grant),
       {kErrorAndRelease, kCannotBe, kErrorAndRelease, kCannotBe}},
  };
  return all;
}

using Place = std::tuple<std::size_t, std::size_t>;

class AcquireLife : public AcquireLifeTest, public ::testing::WithParamInterface<Place> {};

TEST_P(AcquireLife, FollowsTheTable) {
  const Row& row = rows().at(std::get<0>(GetParam()));
  const std::size_t life = std::get<1>(GetParam());
  const Is& is = row.states.at(life);
  if (is.caller.empty()) return;  // no command of it is on its way
  begin(static_cast<Life>(life));
  row.happens(*this);
  EXPECT_EQ(got(), is.caller);
  EXPECT_EQ(count(), is.holds);
  EXPECT_EQ(open(), is.open);
  EXPECT_LE(kept->times, 1);
}

std::string name_of(const ::testing::TestParamInfo<Place>& info) {
  return rows().at(std::get<0>(info.param)).event + "_" + kLifeNames.at(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Of, AcquireLife,
                         ::testing::Combine(::testing::Range<std::size_t>(0, 12),
                                            ::testing::Range<std::size_t>(0, kLives)),
                         name_of);

// ---- What its owner does meanwhile

class AcquireByItsOwnerTest : public AcquireLifeTest,
                              public ::testing::WithParamInterface<std::size_t> {};

TEST_P(AcquireByItsOwnerTest, HasOneAcquisitionOfTheLockAtATime) {
  begin(static_cast<Life>(GetParam()));
  another_call();
  if (GetParam() == static_cast<std::size_t>(Life::kGranted)) {
    EXPECT_FALSE(other->last) << "it is a nested one";
    return;
  }
  EXPECT_EQ(other->last.value().why.code(), Code::kUnderWay);
  EXPECT_EQ(got(), "nothing");
  EXPECT_TRUE(open());
}

TEST_P(AcquireByItsOwnerTest, GivesAGrantBackOnceHoweverOftenItIsCancelled) {
  begin(static_cast<Life>(GetParam()));
  script.got.clear();
  for (int time = 0; time < 3; ++time) call->cancel();
  serve({});
  const bool asleep = GetParam() == static_cast<std::size_t>(Life::kAsleep);
  EXPECT_EQ(script.count("client:7"), asleep ? 0 : 1);
}

INSTANTIATE_TEST_SUITE_P(Of, AcquireByItsOwnerTest, ::testing::Range<std::size_t>(0, kLives),
                         [](const ::testing::TestParamInfo<std::size_t>& of) {
                           return kLifeNames.at(of.param);
                         });

class AcquireAfterAReleaseTest : public AcquireLifeTest {
 protected:
  // A release whose caller did not wait for the answer is overtaken by its owner's next acquire.
  void overtake() {
    acquire({granted});
    begun = release_call(kAlice, true);
    begun->finish_to(std::make_shared<KeptOutcome>(), kId);
    serve({});
    begin(Life::kSent);
    EXPECT_TRUE(std::dynamic_pointer_cast<client::Request>(begun)->revoked());
  }
};

TEST_F(AcquireAfterAReleaseTest, AGrantIsTheOnlyHold) {
  overtake();
  serve({kReleased, granted});
  EXPECT_EQ(got(), "grant");
  EXPECT_EQ(count(), 1);
  EXPECT_FALSE(open());
}

TEST_F(AcquireAfterAReleaseTest, ARefusalSaysThatItIsDone) {
  overtake();
  serve({kReleased, kHeld});
  EXPECT_EQ(got(), "nothing");
  call->cancel();
  EXPECT_EQ(got(), "cancelled");
  EXPECT_FALSE(open()) << "nothing is there to be released";
}

TEST_F(AcquireAfterAReleaseTest, WithoutAnAnswerItIsTakenBack) {
  overtake();
  call->cancel();
  serve({kReleased, granted});
  EXPECT_TRUE(open());
  serve({kReleased});
  EXPECT_FALSE(open());
  EXPECT_EQ(count(), 0);
}

// A lock made of locks sets the lease of the members' holds anew.
class AcquireAgainTest : public CallFixture {
 protected:
  AcquireAgainTest() { set_up(CallerKind::kTask, kinds_with_holds().front()); }

  ExchangePtr again() const {
    AcquireArguments arguments{kAlice, kLease};
    arguments.again = true;
    return simulation::acquire_call(context, {lock, arguments});
  }
};

TEST_F(AcquireAgainTest, AHoldStaysTheOnlyOne) {
  acquire({granted});
  script.got.clear();
  run(again(), {granted});
  EXPECT_EQ(script.got, acquire_command());
  EXPECT_EQ(count(), 1);
}

TEST_F(AcquireAgainTest, AHoldThatWasLostIsOne) {
  run(again(), {granted});
  EXPECT_EQ(script.got, acquire_command());
  EXPECT_EQ(count(), 1);
}

TEST_F(AcquireAgainTest, WhatIsGrantedIsNotGivenBackToo) {
  acquire({granted});
  run(again(), {granted});
  begun->cancel();
  EXPECT_EQ(count(), 1);
}

TEST(AcquireOfAThreadTest, AGrantThatComesWhileASignalHandlerRunsIsNotTheHandlers) {
  class Thread : public CallFixture {
   public:
    Thread() { set_up(CallerKind::kThread, kinds_with_holds().front()); }
    void TestBody() override {
      class Handler final : public Interrupt {
       public:
        explicit Handler(Thread& of) : of_(of) {}
        bool pending() override {
          if (std::exchange(ran_, true)) return true;
          of_.serve({of_.granted});  // by another thread
          const ExchangePtr nested = of_.acquire_call();
          EXPECT_EQ(nested->wait(nullptr).value().why.code(), Code::kUnderWay);
          return false;
        }

       private:
        Thread& of_;
        bool ran_ = false;
      };
      Handler handler(*this);
      outcome = acquire_call()->wait(&handler);
      EXPECT_EQ(verdict(), Verdict::kGranted);
      EXPECT_EQ(count(), 1);
    }
  };
  Thread().TestBody();
}

}  // namespace
}  // namespace holdfast::sync
