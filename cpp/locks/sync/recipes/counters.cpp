#include "locks/sync/recipes/kinds.h"
#include "lua_scripts.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;
using P = Part;

constexpr script::Script kExpire{
    "PEXPIRE", {}, {}, resp::ReplyKind::kInteger, 1, 1, "*3\r\n$7\r\nPEXPIRE\r\n"};

// An acquisition is a request for permits; its owner is the request's slot; release() undoes it.
constexpr Steps kSemaphoreSteps = [] {
  Steps of;
  of.acquire = {lua::semaphore_acquire,
                {P::kName, P::kRequest, P::kSemaphoreChannel, P::kMemory, P::kRequestNumber,
                 P::kAmount, P::kSetup, P::kPublish}};
  of.release = {
      lua::semaphore_undo,
      {P::kName, P::kRequest, P::kSemaphoreChannel, P::kMemory, P::kRequestNumber, P::kPublish}};
  of.write_again = {kExpire, {P::kRequest, P::kLease}};  // as long as the server knows it
  return of;
}();

constexpr Traits kSemaphoreTraits = [] {
  Traits of{"semaphore", keys::kSemaphoreChannel, Waiting::kTogether};
  of.has_permits = true;
  of.undone_for_good = true;
  return of;
}();

class Semaphore final : public TakingRecipe {
 public:
  using TakingRecipe::TakingRecipe;

  std::vector<const script::Script*> scripts() const override {
    return {&lua::semaphore_acquire, &lua::semaphore_undo, &lua::semaphore_add_permits};
  }

  Answer acquired(const resp::Reply& reply) const override {
    Answer granted{Answer::Kind::kGranted, Millis(0)};
    if (reply.is_nil()) return granted;
    if (!reply.is_array()) return {Answer::Kind::kHeld, kWithoutTtl, reply.integer()};
    granted.other = reply.integer_at(1);
    return granted;
  }

  bool written_again(const resp::Reply& reply) const override { return reply.integer() != 0; }
};

constexpr Row amount_row(const script::Script& script) {
  return {script,
          {P::kName, P::kRequest, P::kSemaphoreChannel, P::kMemory, P::kRequestNumber, P::kAmount,
           P::kPublish}};
}

constexpr Row kAddPermits = amount_row(lua::semaphore_add_permits);
constexpr Row kReleaseIfExists = amount_row(lua::semaphore_release_if_exists);
constexpr Row kTrySetPermits = amount_row(lua::semaphore_try_set_permits);
constexpr Row kDrainPermits{lua::semaphore_drain_permits,
                            {P::kName, P::kRequest, P::kMemory, P::kRequestNumber}};
constexpr Row kDeleteSemaphore{lua::semaphore_delete,
                               {P::kName, P::kRequest, P::kMemory, P::kRequestNumber}};

constexpr auto kGiven = CounterStep::Permits::kGiven;
constexpr auto kGivenIfThere = CounterStep::Permits::kGivenIfThere;
constexpr auto kTaken = CounterStep::Permits::kTaken;

// An attempt reads the count and leaves nothing behind.
constexpr Steps kLatchSteps = [] {
  Steps of;
  of.acquire = {lua::semaphore_value, {P::kName}};
  return of;
}();

constexpr Traits kLatchTraits = [] {
  Traits of{{}, keys::kLatchChannel, Waiting::kTogether};
  of.granting_message = "0";  // it has opened; by now it may be closed again
  return of;
}();

class CountDownLatch final : public Recipe {
 public:
  using Recipe::Recipe;

  Answer acquired(const resp::Reply& reply) const override {
    const bool open = reply.is_nil() || reply.integer() <= 0;
    return {open ? Answer::Kind::kGranted : Answer::Kind::kHeld, kWithoutTtl};
  }
};

constexpr Row kTrySetCount{lua::count_down_latch_try_set_count,
                           {P::kName, P::kRequest, P::kLatchChannel, P::kMemory, P::kRequestNumber,
                            P::kAmount, P::kPublish}};
constexpr Row kCountDown{
    lua::count_down_latch_count_down,
    {P::kName, P::kRequest, P::kLatchChannel, P::kMemory, P::kRequestNumber, P::kPublish}};
constexpr Row kDeleteLatch{
    lua::count_down_latch_delete,
    {P::kName, P::kRequest, P::kLatchChannel, P::kMemory, P::kRequestNumber, P::kPublish}};

// An attempt compares the revision with the one that the caller knows, and leaves nothing behind.
constexpr Steps kRevisionSteps = [] {
  Steps of;
  of.acquire = {lua::revision_changed, {P::kName, P::kState, P::kAmount}};
  return of;
}();

constexpr Traits kRevisionTraits{{}, keys::kChangedChannel, Waiting::kTogether};
constexpr Traits kObservationTraits = [] {
  Traits of = kRevisionTraits;
  of.beside = &keys::kLockChannel;
  return of;
}();

class Revision final : public Recipe {
 public:
  using Recipe::Recipe;

  // A refusal says when the state may change without a message: with the lease of its owner.
  Answer acquired(const resp::Reply& reply) const override {
    if (reply.is_nil()) return {};
    return {Answer::Kind::kHeld, Millis(reply.integer())};
  }
};

}  // namespace

const CounterKind& semaphore() {
  static const Semaphore recipe(kSemaphoreSteps, kSemaphoreTraits);
  static const CounterKind kind{"semaphore",
                                recipe,
                                {{"release", kAddPermits, true, kGiven},
                                 {"release_if_exists", kReleaseIfExists, true, kGivenIfThere},
                                 {"add_permits", kAddPermits},
                                 {"try_set_permits", kTrySetPermits},
                                 {"drain_permits", kDrainPermits, false, kTaken},
                                 {"delete", kDeleteSemaphore}}};
  return kind;
}

const CounterKind& count_down_latch() {
  static const CountDownLatch recipe(kLatchSteps, kLatchTraits);
  static const CounterKind kind{"count_down_latch",
                                recipe,
                                {{"try_set_count", kTrySetCount},
                                 {"count_down", kCountDown, true},
                                 {"delete", kDeleteLatch}}};
  return kind;
}

const CounterKind& revision() {
  static const Revision recipe(kRevisionSteps, kRevisionTraits);
  static const CounterKind kind{"revision", recipe, {}};
  return kind;
}

const CounterKind& observation() {
  static const Revision recipe(kRevisionSteps, kObservationTraits);
  static const CounterKind kind{"observation", recipe, {}};
  return kind;
}

}  // namespace holdfast::sync
