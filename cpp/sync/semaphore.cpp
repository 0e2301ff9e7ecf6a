#include "sync/semaphore.h"

#include "lua_scripts.h"
#include "resp/command.h"
#include "script/script.h"
#include "sync/keys.h"

namespace holdfast::sync {

namespace {

using script::Call;
namespace lua = script::lua;

constexpr Millis kNoTtl{-1};

class Semaphore final : public CounterRecipe {
 public:
  std::vector<const script::Script*> scripts() const override {
    return {&lua::semaphore_acquire, &lua::semaphore_undo, &lua::semaphore_add_permits};
  }

  Waiting waiting() const override { return Waiting::kByCount; }
  bool has_permits() const override { return true; }

  Channel channel(const LockName& name, const std::string& /*owner*/) const override {
    return semaphore_channel(name);
  }

  void acquire(std::string& out, const Step& step) const override {
    Call(out, lua::semaphore_acquire, step.by_text, 2, 3)
        << step.name.bytes() << request_key(step.name, step.owner)
        << step.acquire_options.request_memory.count() << step.acquire_options.request_number()
        << step.acquire_options.amount;
  }

  bool undone_for_good() const override { return true; }

  Answer acquired(const resp::Reply& reply) const override {
    if (reply.is_nil()) return {Answer::Kind::kGranted, Millis(0)};
    return {Answer::Kind::kHeld, kNoTtl, reply.integer()};
  }

  void release(std::string& out, const Step& step) const override {
    Call(out, lua::semaphore_undo, step.by_text, 3, 3)
        << step.name.bytes() << request_key(step.name, step.owner)
        << semaphore_channel(step.name).bytes() << step.acquire_options.request_memory.count()
        << step.acquire_options.request_number() << step.publish;
  }

  // Of what was taken, as long as its request is known.
  void renew(std::string& out, const LockName& name, const std::string& owner, Millis lease,
             bool /*by_text*/) const override {
    const std::string memory = std::to_string(lease.count());
    out += resp::Command({"PEXPIRE", request_key(name, owner), memory}).bytes();
  }
};

}  // namespace

const Recipe& semaphore_recipe() {
  static const Semaphore recipe;
  return recipe;
}

void add_permits(std::string& out, const Step& step) {
  Call(out, lua::semaphore_add_permits, step.by_text, 3, 4)
      << step.name.bytes() << request_key(step.name, step.owner)
      << semaphore_channel(step.name).bytes() << step.lease.count()
      << step.acquire_options.request_number() << step.acquire_options.amount << step.publish;
}

void try_set_permits(std::string& out, const Step& step) {
  Call(out, lua::semaphore_try_set_permits, step.by_text, 3, 4)
      << step.name.bytes() << request_key(step.name, step.owner)
      << semaphore_channel(step.name).bytes() << step.lease.count()
      << step.acquire_options.request_number() << step.acquire_options.amount << step.publish;
}

void drain_permits(std::string& out, const Step& step) {
  Call(out, lua::semaphore_drain_permits, step.by_text, 2, 2)
      << step.name.bytes() << request_key(step.name, step.owner) << step.lease.count()
      << step.acquire_options.request_number();
}

void delete_semaphore(std::string& out, const Step& step) {
  Call(out, lua::semaphore_delete, step.by_text, 2, 2)
      << step.name.bytes() << request_key(step.name, step.owner) << step.lease.count()
      << step.acquire_options.request_number();
}

}  // namespace holdfast::sync
