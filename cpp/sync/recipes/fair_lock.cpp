#include "sync/recipes/kinds.h"
#include "sync/recipes/lock.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;
using P = Part;

// After the grant it is an ordinary lock: only the acquisition, and the message of a release,
// differ.
constexpr Steps fair_steps() {
  Steps of = lock_steps();
  of.acquire = {lua::fair_lock_acquire,
                {P::kName, P::kFairQueue, P::kFairTimeouts, P::kOwner, P::kLease, P::kCount,
                 P::kQueueTimeout}};
  of.release = {lua::fair_lock_release,
                {P::kName, P::kFairQueue, P::kFairTimeouts, P::kLockChannel, P::kOwner, P::kCount,
                 P::kPublish}};
  of.release_either = {lua::fair_lock_release_either,
                       {P::kName, P::kFairQueue, P::kFairTimeouts, P::kLockChannel, P::kOwner,
                        P::kOther, P::kPublish}};
  of.retain = {};
  of.extend = {lua::fair_lock_extend,
               {P::kName, P::kFairQueue, P::kFairTimeouts, P::kLockChannel, P::kOwner, P::kLease,
                P::kPublish}};
  of.transfer = {};
  of.move = {lua::fair_lock_move,
             {P::kName, P::kFairQueue, P::kFairTimeouts, P::kLockChannel, P::kOwner, P::kNext,
              P::kLease, P::kPublish}};
  of.force_release = {lua::fair_lock_force_release,
                      {P::kName, P::kFairQueue, P::kFairTimeouts, P::kLockChannel, P::kPublish}};
  return of;
}
constexpr Steps kFairSteps = fair_steps();

class FairLock final : public LockRecipe {
 public:
  using LockRecipe::LockRecipe;

  Channel channel(const LockName& name, const std::string& owner) const override {
    return Channel(keys::kLockChannel.of(name) + ':' + owner);
  }

  Answer acquired(const resp::Reply& reply) const override {
    if (reply.is_nil() || reply.integer() >= kHoldsGone) return LockRecipe::acquired(reply);
    Answer answer = held(kWithoutTtl);
    answer.ttl = Millis(kHoldsGone - reply.integer());
    return answer;
  }
};

}  // namespace

const LockRecipe& fair_lock_recipe() {
  static const FairLock recipe(kFairSteps,
                               {"fair_lock", keys::kLockChannel, Waiting::kInLine, "fair_lock"});
  return recipe;
}

}  // namespace holdfast::sync
