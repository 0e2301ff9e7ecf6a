// Every acquisition and release, for each caller and each kind with holds: one command where the
// server gives the usual reply, and every way on from there.

#include <gtest/gtest.h>

#include <new>
#include <string>
#include <tuple>

#include "locks/sync/call_fixture.h"

namespace holdfast::sync {
namespace {

class CallTest : public CallFixture,
                 public ::testing::WithParamInterface<std::tuple<CallerKind, CalledKind>> {
 protected:
  CallTest() { set_up(std::get<0>(GetParam()), std::get<1>(GetParam())); }

  bool returns() const { return !lock->recipe.holding->traits.has_permits; }
  bool in_turn() const { return lock->recipe.traits.waiting == Waiting::kInTurn; }
  // Whether a release lets other clients go first.
  bool yields() const { return in_turn() || lock->recipe.traits.waiting == Waiting::kBackOff; }
  std::string field(OwnerNumber owner) const { return owner_field("client", owner); }
};

TEST_P(CallTest, AGrantAndAReleaseAreOneCommandEach) {
  for (int time = 0; time < 3; ++time) {  // the commands are kept from the second time on
    script.got.clear();
    acquire({granted});
    EXPECT_EQ(verdict(), Verdict::kGranted);
    EXPECT_EQ(count(), 1);
    release({kReleased});
    EXPECT_EQ(verdict(), Verdict::kGranted);
    EXPECT_EQ(count(), 0);
    EXPECT_TRUE(keeper().is_idle());
    EXPECT_EQ(script.got, acquire_command() + release_command());
  }
}

TEST_P(CallTest, EachOwnerHasItsField) {
  acquire({granted});
  release({kReleased});
  script.got.clear();
  acquire({granted}, kBob);
  EXPECT_EQ(script.got, acquire_command(kBob));
  EXPECT_EQ(count(kBob), 1);
  EXPECT_EQ(count(kAlice), 0);
}

TEST_P(CallTest, AGrantIsAmongTheFiguresOfLocks) {
  const auto acquired = total(Stats::Counter::kAcquired);
  acquire({granted});
  release({kReleased});
  EXPECT_EQ(total(Stats::Counter::kAcquired), acquired + (lock->recipe.taking != nullptr ? 1 : 0));
}

TEST_P(CallTest, HeldByAnotherACallerThatDoesNotWaitIsRefused) {
  acquire({kHeld});
  EXPECT_EQ(verdict(), Verdict::kBusy);
  EXPECT_EQ(count(), 0);
  EXPECT_TRUE(keeper().is_idle());
}

TEST_P(CallTest, AReplyCutInTwoIsAGrant) {
  acquire({granted.substr(0, 2), granted.substr(2)});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(count(), 1);
}

TEST_P(CallTest, ANestedHoldAndAPartialReleaseAreOneCommandEach) {
  if (!returns()) return;
  acquire({granted});
  script.got.clear();
  acquire({granted});
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(script.got, acquire_command(kAlice, 2));
  script.got.clear();
  release({":0\r\n"});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(script.got, release_command(kAlice, 1));
}

TEST_P(CallTest, AServerThatDoesNotKnowTheScriptGetsItsText) {
  std::string loaded;  // preloading the kind's scripts
  for (std::size_t i = 0; i < lock->recipe.scripts().size(); ++i) loaded += "+loaded\r\n";
  acquire({kNoScript, loaded + granted});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_GE(script.count("\r\nEVAL\r\n"), 1);
  EXPECT_EQ(count(), 1);
}

TEST_P(CallTest, AnAttemptWhoseCallerHasLeftIsNotSentWithItsText) {
  leave(acquire_call());
  read(kNoScript + kReleased);
  EXPECT_EQ(script.count("\r\nEVAL\r\n"), 0) << "it would be granted behind its release";
  EXPECT_TRUE(keeper().is_idle());
}

TEST_P(CallTest, AnErrorOfTheServerIsTheCallers) {
  acquire({"-WRONGTYPE no hash\r\n"});
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_EQ(outcome->why.code(), Code::kServer);
  EXPECT_TRUE(keeper().is_idle());
}

TEST_P(CallTest, AGrantThatComesAfterItsLeaseIsGivenBack) {
  meanwhile([this] { script.clock.advance(kLease.time); }, acquire_call(), {granted, kReleased});
  EXPECT_EQ(verdict(), Verdict::kExpired);
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(script.writes, 4) << "the pair that made the stream, the attempt, and its release";
}

TEST_P(CallTest, AClosingClientGivesTheGrantBack) {
  meanwhile([this] { keeper().begin_close([] {}); }, acquire_call(), {granted, kReleased});
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_EQ(outcome->why.code(), Code::kClosed);
  EXPECT_EQ(count(), 0);
}

TEST_P(CallTest, AnAttemptOfAClosedClientFails) {
  meanwhile([this] { context->topology->close(Status::closed("closed")); }, acquire_call(), {""});
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_EQ(outcome->why.code(), Code::kClosed);
  run(acquire_call(kBob), {});
  EXPECT_EQ(verdict(), Verdict::kFailed) << "it is refused at once";
}

TEST_P(CallTest, AnAttemptWhoseCallerLeavesIsTakenBackBehindItself) {
  leave(acquire_call());
  EXPECT_EQ(count(), 0);
  EXPECT_FALSE(keeper().is_idle()) << "the release is pending";
  read(granted + kReleased);
  EXPECT_TRUE(keeper().is_idle());
}

TEST_P(CallTest, ACommandThatIsSentAgainAfterItsCallerHasLeftIsTheSame) {
  acquire({granted});
  script.got.clear();
  leave(release_call());
  script.replies = {Script::kEnd.data()};
  for (int i = 0; i < 10 && script.got.size() < 2 * release_command().size(); ++i) {
    script.clock.advance(Millis(1000));
    (void)connection->step(script.clock.now());
  }
  EXPECT_EQ(script.got, release_command() + release_command());
}

TEST_P(CallTest, AGrantThatItsCallerWillNotSeeIsGivenBack) {
  acquire({granted});
  begun->cancel();
  EXPECT_EQ(count(), 0);
  EXPECT_FALSE(keeper().is_idle());
  begun->cancel();  // once only
  read(kReleased);
  EXPECT_TRUE(keeper().is_idle());
}

TEST_P(CallTest, ACallThatNeverBeganLeavesNothing) {
  const ExchangePtr unused = acquire_call();
  acquire({granted});
  unused->cancel();
  unused->cancel();
  EXPECT_EQ(count(), 1);
}

TEST_P(CallTest, AReleaseWhoseCallerLeavesStaysPendingUntilItsReply) {
  acquire({granted});
  leave(release_call());
  EXPECT_FALSE(keeper().is_idle());
  read(kReleased);
  EXPECT_TRUE(keeper().is_idle());
}

TEST_P(CallTest, AHoldThatIsGoneIsLostByItsRelease) {
  acquire({granted});
  release({kNil});
  EXPECT_EQ(verdict(), Verdict::kGone);
  EXPECT_EQ(keeper().known(lock->name, kAlice).lost, returns());
}

TEST_P(CallTest, AHoldThatRanOutIsLostByItsRelease) {
  acquire({granted});
  script.clock.advance(kLease.time);
  release({kReleased});
  EXPECT_EQ(verdict(), Verdict::kGone);
}

TEST_P(CallTest, AReleaseOfWhatAnotherHoldsIsRefusedWithoutACommand) {
  acquire({granted});
  script.got.clear();
  release({}, kBob);
  EXPECT_EQ(verdict(), Verdict::kBusy);
  EXPECT_EQ(script.got, "");
  EXPECT_EQ(count(), 1);
}

TEST_P(CallTest, AReleaseThatOtherClientsReceivedYieldsToThem) {
  acquire({granted});
  release({":2\r\n"});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_TRUE(keeper().is_idle());
  EXPECT_EQ(context->waits->holds_back(lock->channel()) > script.clock.now(), yields());
}

class CountedWaiter final : public wait::Waiter {
 public:
  void on_signal() override { ++signals; }
  void on_turn(TimePoint /*retry_at*/) override {}
  void on_failure(const Status& /*why*/) override {}
  int signals = 0;
};

TEST_P(CallTest, AReleaseCallsAWaiterThatHeldBackForIt) {
  const auto waiter = std::make_shared<CountedWaiter>();
  acquire({granted});
  const auto hold_back = [&] {
    (void)context->waits->published(lock->channel(), 2, script.clock.now());
    ASSERT_TRUE(context->waits->release_begins(lock->channel()));
    (void)context->waits->join(lock->channel(), waiter, std::nullopt);
  };
  meanwhile(hold_back, release_call(), {kReleased});
  EXPECT_EQ(waiter->signals, yields() ? 1 : 0);
  (void)context->waits->leave(lock->channel(), *waiter, wait::LeaveReason::kGaveUp, kNever);
}

TEST_P(CallTest, AReleaseThatLeavesTheHoldsOfOthersIsDone) {
  if (!returns()) return;  // a permit is one owner's
  acquire({granted});
  release({":0\r\n"});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(count(), 0);
  EXPECT_TRUE(keeper().is_idle());
}

TEST_P(CallTest, AReleaseWithoutAReplyFailsAndGoesOn) {
  acquire({granted});
  if (by_thread()) {
    release({});  // time passes while nothing comes
  } else {
    meanwhile([this] { script.clock.advance(kTimeout); }, release_call(), {""});
  }
  EXPECT_EQ(verdict(), Verdict::kFailed);
  // The loop of a task has seen by now that the lease is over, too.
  EXPECT_EQ(keeper().is_idle(), !by_thread());
}

TEST_P(CallTest, WhileItsOwnerIsAcquiringAnotherCallOfTheOwnerIsRefused) {
  if (!returns()) return;
  lease::Attempt attempt(keeper(), lock->name, kAlice);
  EXPECT_TRUE(attempt.enter());
  acquire({});
  EXPECT_EQ(verdict(), Verdict::kFailed);
  release({});
  EXPECT_EQ(verdict(), Verdict::kFailed);
  EXPECT_EQ(script.got, "");
  acquire({granted}, kBob);
  EXPECT_EQ(verdict(), Verdict::kGranted);
}

TEST_P(CallTest, BehindAnotherWaiterOfItsClientItQueuesUp) {
  if (!in_turn() || by_thread()) return;  // a thread would sleep on the clock of the test
  const auto other = std::make_shared<CountedWaiter>();
  (void)context->waits->join(lock->channel(), other, std::nullopt);
  leave(acquire_call(kAlice, true));
  EXPECT_EQ(script.got, "") << "it is the other one's turn";
  (void)context->waits->leave(lock->channel(), *other, wait::LeaveReason::kGaveUp, kNever);
}

TEST_P(CallTest, TheNextAttemptTakesOverWhatIsPending) {
  if (!returns()) return;
  acquire({granted});
  leave(release_call());
  EXPECT_FALSE(keeper().is_idle());
  acquire_behind(kReleased, granted);
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(count(), 1);
  EXPECT_TRUE(keeper().is_idle());
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<CallerKind, CalledKind>>& info) {
  const bool thread = std::get<0>(info.param) == CallerKind::kThread;
  return std::get<1>(info.param).word + (thread ? "_thread" : "_task");
}

INSTANTIATE_TEST_SUITE_P(Of, CallTest,
                         ::testing::Combine(::testing::Values(CallerKind::kThread,
                                                              CallerKind::kTask),
                                            ::testing::ValuesIn(kinds_with_holds())),
                         name_of);

// ---- A thread alone

class ThreadCallTest : public CallFixture {
 protected:
  ThreadCallTest() { set_up(CallerKind::kThread, kinds_with_holds().front()); }
};

TEST_F(ThreadCallTest, AnExceptionLeavesNothingBehind) {
  script.on_writing = [] { throw std::bad_alloc(); };
  EXPECT_THROW(acquire({}), std::bad_alloc);
  script.on_writing = nullptr;
  EXPECT_FALSE(lease::acquiring(keeper()));
  EXPECT_FALSE(keeper().acquiring(lock->name, kAlice));
  EXPECT_EQ(count(), 0);
}

TEST_F(ThreadCallTest, AfterItHasLeftTheLoopReads) {
  acquire({granted});
  leave(release_call());
  serve({kNoScript, kNoScript});
  EXPECT_EQ(script.count("EVAL\r\n"), 1) << "the release goes on";
}

TEST_F(ThreadCallTest, AReleaseThatComesBackDoesNotGoBehindANewerHold) {
  acquire({granted});
  script.on_writing = [this] {  // as a signal handler would
    script.on_writing = nullptr;
    lease::Attempt attempt(keeper(), lock->name, kAlice);
    (void)attempt.begin();
    EXPECT_TRUE(
        attempt.granted({lock->name, kAlice, 1, kLease, script.clock.now(), &lock_recipe()}));
  };
  script.got.clear();
  release({kNoScript});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(script.got.find("EVAL\r\n"), std::string::npos);
}

TEST_F(ThreadCallTest, AForcedReleaseThatWasSentBeforeItsCommandLeavesItsGrant) {
  TimePoint forced_at{};
  script.on_looking = [&] {  // by another thread, when the call has begun
    script.clock.advance(Millis(1));
    forced_at = script.clock.now();
    script.clock.advance(Millis(1));
  };
  acquire({granted});
  ASSERT_NE(forced_at, TimePoint{});
  lease::forced(keeper(), lock->name, forced_at);  // its reply is judged
  EXPECT_EQ(count(), 1);
  EXPECT_FALSE(keeper().known(lock->name, kAlice).lost);
}

class Later final : public Clock {  // no thread sleeps on the clock of the test: it moves on
 public:
  explicit Later(ManualClock& moves) : moves_(moves) {}
  TimePoint now() const override {
    moves_.advance(kInterruptSlice);
    return kNever - Millis(1);
  }

 private:
  ManualClock& moves_;
};

class Looking final : public Interrupt {
 public:
  explicit Looking(std::function<void()> looks) : looks_(std::move(looks)) {}
  bool pending() override {
    looks_();
    return true;
  }

 private:
  const std::function<void()> looks_;
};

// A thread that reads its reply behind an unread one may go on to wait for a message. It reads its
// connection no more: for a call that has come meanwhile the loop has to.
TEST_F(ThreadCallTest, BeforeItWaitsForAMessageAReaderIsFoundForTheCallsOfOthers) {
  const Later later(script.clock);
  NoLoop of_messages;
  static_cast<OneServer&>(*context->topology).messages = std::make_shared<client::Subscriber>(
      later, of_messages, client::StreamOptions{}, std::weak_ptr<client::Subscriber::Sink>());
  acquire({granted});
  EXPECT_TRUE(release_call(kAlice, true)->wait(nullptr)) << "its reply is unread";
  const ExchangePtr other = acquire_call(kBob);
  int before = 0;
  script.on_reading = [&] {
    other->finish_to(std::make_shared<KeptOutcome>(), kId);
    before = loop.driven;
  };
  script.replies = {kNoScript + kHeld};
  int driven = 0;
  Looking looking([&] { driven = loop.driven - before; });
  EXPECT_FALSE(acquire_call(kAlice, true)->wait(&looking));
  EXPECT_GT(driven, 0);
}

}  // namespace
}  // namespace holdfast::sync
