#include "lua_scripts.h"
#include "script/writer.h"
#include "sync/recipes/amount_step.h"
#include "sync/recipes/keys.h"
#include "sync/recipes/kinds.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;

// An acquisition is a request for `acquire_options.amount` permits; its owner is the request's id;
// release() undoes it.
class Semaphore final : public TakingRecipe {
 public:
  std::vector<const script::Script*> scripts() const override {
    return {&lua::semaphore_acquire, &lua::semaphore_undo, &lua::semaphore_add_permits};
  }

  std::string_view kind() const override { return "semaphore"; }
  Waiting waiting() const override { return Waiting::kByCount; }
  bool has_permits() const override { return true; }

  Channel channel(const LockName& name, const std::string& /*owner*/) const override {
    return semaphore_channel(name);
  }

  void acquire(script::Writer& out, const Step& step) const override {
    out.call(lua::semaphore_acquire)
        << step.name.bytes() << request_key(step.name, step.owner)
        << semaphore_channel(step.name).bytes() << step.acquire_options.request_memory.count()
        << step.acquire_options.request_number() << step.acquire_options.amount
        << step.acquire_options.setup << out.publish();
  }

  bool undone_for_good() const override { return true; }

  Answer acquired(const resp::Reply& reply) const override {
    Answer granted{Answer::Kind::kGranted, Millis(0)};
    if (reply.is_nil()) return granted;
    if (!reply.is_array()) return {Answer::Kind::kHeld, kWithoutTtl, reply.integer()};
    granted.other = reply.integer_at(1);
    return granted;
  }

  void release(script::Writer& out, const Step& step) const override {
    out.call(lua::semaphore_undo) << step.name.bytes() << request_key(step.name, step.owner)
                                  << semaphore_channel(step.name).bytes()
                                  << step.acquire_options.request_memory.count()
                                  << step.acquire_options.request_number() << out.publish();
  }

  // As long as the server knows its request.
  void write_again(script::Writer& out, const LockName& name, const std::string& owner,
                   Millis lease) const override {
    const std::string memory = std::to_string(lease.count());
    out.command({"PEXPIRE", request_key(name, owner), memory}, resp::ReplyKind::kInteger);
  }
  bool written_again(const resp::Reply& reply) const override { return reply.integer() != 0; }
};

constexpr auto kGiven = CounterStep::Permits::kGiven;
constexpr auto kGivenIfThere = CounterStep::Permits::kGivenIfThere;
constexpr auto kTaken = CounterStep::Permits::kTaken;
constexpr auto* kAddPermits = &write_amount<lua::semaphore_add_permits>;
constexpr auto* kReleaseIfExists = &write_amount<lua::semaphore_release_if_exists>;
constexpr auto* kTrySetPermits = &write_amount<lua::semaphore_try_set_permits>;

void drain_permits(script::Writer& out, const Step& step) {
  out.call(lua::semaphore_drain_permits)
      << step.name.bytes() << request_key(step.name, step.owner) << step.lease.count()
      << step.acquire_options.request_number();
}

void delete_semaphore(script::Writer& out, const Step& step) {
  out.call(lua::semaphore_delete) << step.name.bytes() << request_key(step.name, step.owner)
                                  << step.lease.count() << step.acquire_options.request_number();
}

}  // namespace

const CounterKind& semaphore() {
  static const Semaphore recipe;
  static const CounterKind kind{"semaphore",
                                recipe,
                                {{"release", kAddPermits, true, kGiven},
                                 {"release_if_exists", kReleaseIfExists, true, kGivenIfThere},
                                 {"add_permits", kAddPermits},
                                 {"try_set_permits", kTrySetPermits},
                                 {"drain_permits", &drain_permits, false, kTaken},
                                 {"delete", &delete_semaphore}}};
  return kind;
}

}  // namespace holdfast::sync
