#include "lua_scripts.h"
#include "sync/recipes/kinds.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;
using P = Part;

constexpr std::string_view kOpens = "0";

// An attempt reads the count and leaves nothing behind.
constexpr Steps latch_steps() {
  Steps of;
  of.acquire = {lua::semaphore_value, {P::kName}};
  return of;
}
constexpr Steps kLatchSteps = latch_steps();

class CountDownLatch final : public Recipe {
 public:
  CountDownLatch() : Recipe(kLatchSteps, {{}, keys::kLatchChannel, Waiting::kTogether}) {}

  // By now it may be closed again.
  std::optional<std::string_view> granting_message() const override { return kOpens; }

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

}  // namespace

const CounterKind& count_down_latch() {
  static const CountDownLatch recipe;
  static const CounterKind kind{"count_down_latch",
                                recipe,
                                {{"try_set_count", kTrySetCount},
                                 {"count_down", kCountDown, true},
                                 {"delete", kDeleteLatch}}};
  return kind;
}

}  // namespace holdfast::sync
