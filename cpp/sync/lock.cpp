#include "sync/lock.h"

#include "lua_scripts.h"
#include "resp/command.h"
#include "script/script.h"
#include "sync/keys.h"

namespace holdfast::sync {

namespace {

using script::Call;
namespace lua = script::lua;

constexpr std::int64_t kHoldsGone = -3;

class Lock final : public Recipe {
 public:
  std::vector<const script::Script*> scripts() const override {
    return {&lua::lock_acquire, &lua::lock_release,       &lua::lock_transfer, &lua::lock_renew,
            &lua::lock_extend,  &lua::lock_force_release, &lua::lock_ttl};
  }

  Channel channel(const LockName& name, const std::string& /*owner*/) const override {
    return lock_channel(name);
  }

  void acquire(std::string& out, const Step& step) const override {
    Call(out, lua::lock_acquire, step.by_text, 1, 3)
        << step.name.bytes() << step.owner << step.lease.count() << step.count;
  }

  Answer acquired(const resp::Reply& reply) const override {
    if (reply.is_nil()) return {Answer::Kind::kGranted, Millis(0)};
    if (reply.integer() == kHoldsGone) return {Answer::Kind::kGone, Millis(0)};
    return {Answer::Kind::kHeld, Millis(reply.integer())};
  }

  void release(std::string& out, const Step& step) const override {
    Call(out, lua::lock_release, step.by_text, 2, 3)
        << step.name.bytes() << lock_channel(step.name).bytes() << step.owner << step.count
        << step.publish;
  }

  bool transfers() const override { return true; }

  void transfer(std::string& out, const Step& step, const std::string& heir) const override {
    Call(out, lua::lock_transfer, step.by_text, 1, 3)
        << step.name.bytes() << step.owner << heir << step.lease.count();
  }

  void force_release(std::string& out, const Step& step) const override {
    Call(out, lua::lock_force_release, step.by_text, 2, 1)
        << step.name.bytes() << lock_channel(step.name).bytes() << step.publish;
  }

  void extend(std::string& out, const Step& step) const override {
    Call(out, lua::lock_extend, step.by_text, 1, 2)
        << step.name.bytes() << step.owner << step.lease.count();
  }

  void renew(std::string& out, const LockName& name, const std::string& owner, Millis lease,
             bool by_text) const override {
    Call(out, lua::lock_renew, by_text, 1, 2) << name.bytes() << owner << lease.count();
  }

  void check(std::string& out, const LockName& name, const std::string& owner) const override {
    out += resp::Command({"HEXISTS", name.bytes(), owner}).bytes();
  }

  void locked(std::string& out, const LockName& name, bool /*by_text*/) const override {
    out += resp::Command({"HLEN", name.bytes()}).bytes();
  }

  void hold_count(std::string& out, const Step& step) const override {
    out += resp::Command({"HGET", step.name.bytes(), step.owner}).bytes();
  }

  void ttl(std::string& out, const LockName& name, bool by_text) const override {
    Call(out, lua::lock_ttl, by_text, 1, 0) << name.bytes();
  }
};

}  // namespace

const Recipe& lock_recipe() {
  static const Lock recipe;
  return recipe;
}

}  // namespace holdfast::sync
