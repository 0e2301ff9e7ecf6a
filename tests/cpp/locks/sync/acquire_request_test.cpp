// What a request for a lock means for the machine, by the kind of lock and the client.

#include "locks/sync/operation/acquire_request.h"

#include <gtest/gtest.h>

#include <memory>

#include "locks/sync/recipes/kinds.h"
#include "support/manual_clock.h"

namespace holdfast::sync {
namespace {

class AcquireRequestTest : public ::testing::Test {
 protected:
  AcquireMachine::Options options(const Recipe& recipe = lock_recipe()) {
    const Context context{clock_, "client", Millis(5000), {}, {}, {}, {}, acknowledger_};
    const auto of = std::make_shared<Synchronizer>(recipe, name, own);
    return machine_options({of, request}, context, clock_.now());
  }
  void replicas_confirm() {
    acknowledger_ =
        std::make_shared<ReplicaAcknowledger>(clock_, nullptr, ReplicationPolicy{1, Millis(5000)});
  }

  LockName name{"orders"};
  AcquireOptions own;
  AcquireArguments request{OwnerNumber{1}, Lease{Millis(700)}};

 private:
  ManualClock clock_;
  std::shared_ptr<ReplicaAcknowledger> acknowledger_;
};

TEST_F(AcquireRequestTest, AWaiterIsAsPatientWithRefusalsAsWithACommand) {
  EXPECT_EQ(options().refusal_budget, Millis(5000));
}

TEST_F(AcquireRequestTest, AnAttemptWithoutBlockingIsPatientForAMoment) {
  request.blocking = false;
  EXPECT_EQ(options().refusal_budget, Millis(200));
}

TEST_F(AcquireRequestTest, AnAttemptOfARoundIsNotPatient) {
  request.refusal_budget = RefusalBudget::kNone;
  EXPECT_EQ(options().refusal_budget, Millis(0));
}

TEST_F(AcquireRequestTest, AWaiterInTurnLooksWhoGoesFirst) {
  EXPECT_TRUE(options().yields);
  EXPECT_FALSE(options(semaphore().recipe).yields);
  request.blocking = false;
  EXPECT_FALSE(options().yields);
}

TEST_F(AcquireRequestTest, OfTwoNamesThatShareAChannelOneHasAQueue) {
  name = LockName("{orders}");
  EXPECT_FALSE(options().yields);
  EXPECT_EQ(waiting_for(lock_recipe(), LockName("orders")), Waiting::kInTurn);
  EXPECT_EQ(waiting_for(lock_recipe(), name), Waiting::kTogether);
}

TEST_F(AcquireRequestTest, AWaiterOfAFairLockHasAPlaceUnlessItLeavesAtOnce) {
  own.queue_timeout = Millis(5000);
  EXPECT_TRUE(options(fair_lock_recipe()).in_line);
  EXPECT_FALSE(options().in_line);
  request.timeout = Duration::zero();
  EXPECT_FALSE(options(fair_lock_recipe()).in_line);
  request = {OwnerNumber{1}, Lease{Millis(700)}, false};
  EXPECT_FALSE(options(fair_lock_recipe()).in_line);
}

TEST_F(AcquireRequestTest, AWaiterOfASpinLockBacksOff) {
  EXPECT_TRUE(options(spin_lock_recipe()).backoff);
  EXPECT_FALSE(options().backoff);
  EXPECT_EQ(waiting_for(spin_lock_recipe(), name), Waiting::kBackOff);
}

TEST_F(AcquireRequestTest, ReplicasConfirmAHoldTheFirstTime) {
  EXPECT_FALSE(options().confirms);
  replicas_confirm();
  EXPECT_TRUE(options().confirms);
  request.again = true;
  EXPECT_FALSE(options().confirms);
}

TEST_F(AcquireRequestTest, AGrantOfALockMakesAHoldWithALease) {
  EXPECT_EQ(options().lease, Millis(700));
  EXPECT_EQ(options(semaphore().recipe).lease, Millis(0));
}

}  // namespace
}  // namespace holdfast::sync
