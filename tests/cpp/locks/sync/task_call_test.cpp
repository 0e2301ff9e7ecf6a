// Calls of a task alone: what no thread meets, or meets alike.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "locks/sync/call_fixture.h"
#include "locks/sync/operation/calls.h"
#include "locks/sync/operation/query_operation.h"
#include "locks/sync/quorum/fan_out_call.h"
#include "locks/sync/quorum/quorum_round.h"

namespace holdfast::sync {
namespace {

class TaskCallTest : public CallFixture {
 protected:
  TaskCallTest() { set_up(CallerKind::kTask, kinds_with_holds().front()); }
};

TEST_F(TaskCallTest, AnAttemptCancelledBeforeItIsSentIsNotSent) {
  begun = acquire_call();
  begun->finish_to(std::make_shared<KeptOutcome>(), kId);
  begun->cancel();
  serve({kReleased});
  EXPECT_EQ(script.count("client:7"), 1) << "the release that takes it back";
  EXPECT_TRUE(keeper().is_idle());
}

TEST_F(TaskCallTest, AGatheredCallThatIsCancelledBeforeItIsSentIsGone) {
  const auto query = [this](std::size_t) {
    return call_of(context, query_of(lock_recipe().steps.locked, lock->name));
  };
  auto call = std::make_shared<FanOutCall>(
      context, lock->name,
      FanOutCall::Plan{multi_lock_rule(1, kLease.time), {0}, query, {}, [](const Answers&) {
                         return Outcome{};
                       }});
  call->finish_to(std::make_shared<KeptOutcome>(), kId);
  call->cancel();
  const std::weak_ptr<FanOutCall> left = call;
  call.reset();
  serve({});
  EXPECT_TRUE(left.expired());
}

TEST_F(TaskCallTest, ADetachIsAReleaseToObserversOnceItIsDone) {
  const auto detach = [this] {
    return sync::detach(context, lock_recipe(), lock->name, kAlice, kLease.time);
  };
  EXPECT_EQ(detach(), nullptr) << "nothing is held";
  for (const std::string& reply : {kNil, kReleased}) {
    acquire({granted});
    const ExchangePtr step = detach();
    EXPECT_FALSE(step->about().last);
    run(step, {reply});
    EXPECT_EQ(step->about().last, reply == kReleased);
    EXPECT_EQ(keeper().known(lock->name, kAlice).lost, reply == kNil);
    keeper().forget_loss(lock->name, kAlice);
  }
}

TEST_F(TaskCallTest, ACallOfAClosedClientNamesItsLock) {
  keeper().close();
  acquire({});
  EXPECT_EQ(outcome->why.message(), "'the lock': its client was closed; use an open one");
  release({});
  EXPECT_EQ(outcome->why.message(), "'the lock': its client was closed; use an open one");
}

TEST_F(TaskCallTest, AnAcquisitionOfACounterIsOverWithItsGrant) {
  lock = simulation::synchronizer(semaphore().recipe, LockName("permits"));
  AcquireRequest request(lock, AcquireArguments{kAlice});
  request.slot = context->slots->take();
  run(simulation::acquire_call(context, request), {kNil});
  EXPECT_EQ(verdict(), Verdict::kGranted);
  EXPECT_FALSE(lease::acquiring(keeper())) << "though its call is still there";
}

TEST_F(TaskCallTest, AGrantOfACounterIsGivenBackOnce) {
  lock = simulation::synchronizer(semaphore().recipe, LockName("permits"));
  AcquireRequest request(lock, AcquireArguments{kAlice});
  request.slot = context->slots->take();
  run(simulation::acquire_call(context, request), {kNil});
  script.got.clear();
  begun->cancel();
  serve({kReleased});
  begun->cancel();
  serve({});
  EXPECT_EQ(script.count("EVALSHA"), 1);
}

TEST_F(TaskCallTest, AServerOutOfReachIsWaitedForAsLongAsItsCallerWaits) {
  const auto waits = [this](bool blocking, Millis timeout) {
    AcquireArguments arguments{kAlice, kLease, blocking};
    arguments.timeout = timeout;
    const auto call = simulation::acquire_call(context, {lock, arguments});
    call->finish_to(std::make_shared<KeptOutcome>(), kId);
    const auto request = std::dynamic_pointer_cast<client::Request>(call);
    call->cancel();
    serve({kReleased});
    return request->connect_deadline - script.clock.now();
  };
  EXPECT_LT(waits(false, Millis(0)), Millis(1000)) << "not at all, but for a restart";
  EXPECT_GE(waits(true, Millis(2000)), Millis(2000));
  EXPECT_LT(waits(true, Millis(2000)), Millis(2000) + kLateAnswer);
}

TEST_F(TaskCallTest, AReleaseThatItsOwnersNextAttemptRevokesIsDone) {
  acquire({granted});
  const auto release = std::make_shared<HoldRelease>(context, lock, HoldRelease::Order{kAlice});
  release->finish_to(kept = std::make_shared<KeptOutcome>(), kId);
  release->revoke();
  release->complete(Status::revoked(), {});
  EXPECT_EQ(kept->last.value().verdict, Verdict::kGranted);
}

TEST_F(TaskCallTest, ACancelledCallEndsOnce) {
  leave(acquire_call());
  EXPECT_EQ(kept->last.value().verdict, Verdict::kCancelled);
  serve({granted, kReleased});
  EXPECT_EQ(kept->times, 1);
}

TEST_F(TaskCallTest, HeldByAnotherACallerThatWaitsJoinsTheQueue) {
  run(acquire_call(kAlice, true), {kHeld});
  EXPECT_FALSE(kept->last);
  EXPECT_FALSE(context->waits->idle(lock->channel(), script.clock.now()));
  begun->cancel();
  EXPECT_EQ(kept->last.value().verdict, Verdict::kCancelled);
  EXPECT_TRUE(keeper().is_idle());
}

}  // namespace
}  // namespace holdfast::sync
