#include "lua_scripts.h"
#include "script/writer.h"
#include "sync/recipes/keys.h"
#include "sync/recipes/kinds.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;

constexpr std::string_view kOpens = "0";

// An attempt reads the count and leaves nothing behind.
class CountDownLatch final : public Recipe {
 public:
  std::vector<const script::Script*> scripts() const override { return {&lua::semaphore_value}; }

  Waiting waiting() const override { return Waiting::kTogether; }
  // By now it may be closed again.
  std::optional<std::string_view> granting_message() const override { return kOpens; }

  Channel channel(const LockName& name, const std::string& /*owner*/) const override {
    return latch_channel(name);
  }

  void acquire(script::Writer& out, const Step& step) const override {
    out.call(lua::semaphore_value) << step.name.bytes();
  }

  Answer acquired(const resp::Reply& reply) const override {
    const bool open = reply.is_nil() || reply.integer() <= 0;
    return {open ? Answer::Kind::kGranted : Answer::Kind::kHeld, kWithoutTtl};
  }
};

void try_set_count(script::Writer& out, const Step& step) {
  out.call(lua::count_down_latch_try_set_count)
      << step.name.bytes() << request_key(step.name, step.owner) << latch_channel(step.name).bytes()
      << step.lease.count() << step.acquire_options.request_number() << step.acquire_options.amount
      << out.publish();
}

void count_down(script::Writer& out, const Step& step) {
  out.call(lua::count_down_latch_count_down)
      << step.name.bytes() << request_key(step.name, step.owner) << latch_channel(step.name).bytes()
      << step.lease.count() << step.acquire_options.request_number() << out.publish();
}

void delete_latch(script::Writer& out, const Step& step) {
  out.call(lua::count_down_latch_delete)
      << step.name.bytes() << request_key(step.name, step.owner) << latch_channel(step.name).bytes()
      << step.lease.count() << step.acquire_options.request_number() << out.publish();
}

}  // namespace

const CounterKind& count_down_latch() {
  static const CountDownLatch recipe;
  static const CounterKind kind{"count_down_latch",
                                recipe,
                                {{"try_set_count", &try_set_count},
                                 {"count_down", &count_down, true},
                                 {"delete", &delete_latch}}};
  return kind;
}

}  // namespace holdfast::sync
