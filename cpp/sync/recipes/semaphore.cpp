#include "lua_scripts.h"
#include "sync/recipes/kinds.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;
using P = Part;

constexpr script::Script kExpire{
    "PEXPIRE", {}, {}, resp::ReplyKind::kInteger, 1, 1, "*3\r\n$7\r\nPEXPIRE\r\n"};

// An acquisition is a request for permits; its owner is the request's slot; release() undoes it.
constexpr Steps semaphore_steps() {
  Steps of;
  of.acquire = {lua::semaphore_acquire,
                {P::kName, P::kRequest, P::kSemaphoreChannel, P::kMemory, P::kRequestNumber,
                 P::kAmount, P::kSetup, P::kPublish}};
  of.release = {
      lua::semaphore_undo,
      {P::kName, P::kRequest, P::kSemaphoreChannel, P::kMemory, P::kRequestNumber, P::kPublish}};
  of.write_again = {kExpire, {P::kRequest, P::kLease}};  // as long as the server knows it
  return of;
}
constexpr Steps kSemaphoreSteps = semaphore_steps();

class Semaphore final : public TakingRecipe {
 public:
  Semaphore()
      : TakingRecipe(kSemaphoreSteps,
                     {"semaphore", keys::kSemaphoreChannel, Waiting::kByCount, {}, true}) {}

  std::vector<const script::Script*> scripts() const override {
    return {&lua::semaphore_acquire, &lua::semaphore_undo, &lua::semaphore_add_permits};
  }

  bool undone_for_good() const override { return true; }

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

}  // namespace

const CounterKind& semaphore() {
  static const Semaphore recipe;
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

}  // namespace holdfast::sync
