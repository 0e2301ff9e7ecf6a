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

}  // namespace

std::vector<const script::Script*> LockRecipe::scripts() const {
  return {&lua::lock_acquire, &lua::lock_release,       &lua::lock_transfer, &lua::lock_renew,
          &lua::lock_extend,  &lua::lock_force_release, &lua::lock_ttl};
}

Channel LockRecipe::channel(const LockName& name, const std::string& /*owner*/) const {
  return lock_channel(name);
}

void LockRecipe::acquire(std::string& out, const Step& step) const {
  Call(out, lua::lock_acquire, step.by_text, 1, 3)
      << step.name.bytes() << step.owner << step.lease.count() << step.count;
}

Answer LockRecipe::acquired(const resp::Reply& reply) const {
  if (reply.is_nil()) return {Answer::Kind::kGranted, Millis(0)};
  if (reply.integer() == kHoldsGone) return {Answer::Kind::kGone, Millis(0)};
  return {Answer::Kind::kHeld, Millis(reply.integer())};
}

void LockRecipe::release(std::string& out, const Step& step) const {
  Call(out, lua::lock_release, step.by_text, 2, 3)
      << step.name.bytes() << lock_channel(step.name).bytes() << step.owner << step.count
      << step.publish;
}

void LockRecipe::transfer(std::string& out, const Step& step, const std::string& heir) const {
  Call(out, lua::lock_transfer, step.by_text, 2, 4)
      << step.name.bytes() << lock_channel(step.name).bytes() << step.owner << heir
      << step.lease.count() << step.publish;
}

void LockRecipe::retain(std::string& out, const Step& step) const {
  Call(out, lua::lock_retain, step.by_text, 2, 5)
      << step.name.bytes() << lock_channel(step.name).bytes() << step.owner
      << (step.other.empty() ? step.owner : step.other) << step.keeper << step.stays.count()
      << step.publish;
}

void LockRecipe::release_either(std::string& out, const Step& step) const {
  Call(out, lua::lock_release_either, step.by_text, 2, 3)
      << step.name.bytes() << lock_channel(step.name).bytes() << step.owner << step.other
      << step.publish;
}

void LockRecipe::move(std::string& out, const Step& step, const std::string& next) const {
  Call(out, lua::lock_move, step.by_text, 2, 4)
      << step.name.bytes() << lock_channel(step.name).bytes() << step.owner << next
      << step.lease.count() << step.publish;
}

void LockRecipe::renew_either(std::string& out, const LockName& name, const lease::Owners& owners,
                              Millis lease, bool by_text) const {
  Call(out, lua::lock_renew_either, by_text, 1, 3)
      << name.bytes() << owners.owner << owners.other << lease.count();
}

void LockRecipe::force_release(std::string& out, const Step& step) const {
  Call(out, lua::lock_force_release, step.by_text, 2, 1)
      << step.name.bytes() << lock_channel(step.name).bytes() << step.publish;
}

void LockRecipe::extend(std::string& out, const Step& step) const {
  Call(out, lua::lock_extend, step.by_text, 2, 3)
      << step.name.bytes() << lock_channel(step.name).bytes() << step.owner << step.lease.count()
      << step.publish;
}

void LockRecipe::renew(std::string& out, const LockName& name, const std::string& owner,
                       Millis lease, bool by_text) const {
  Call(out, lua::lock_renew, by_text, 1, 2) << name.bytes() << owner << lease.count();
}

void LockRecipe::check(std::string& out, const LockName& name, const std::string& owner) const {
  out += resp::Command({"HEXISTS", name.bytes(), owner}).bytes();
}

void LockRecipe::locked(std::string& out, const LockName& name, bool /*by_text*/) const {
  out += resp::Command({"HLEN", name.bytes()}).bytes();
}

void LockRecipe::hold_count(std::string& out, const Step& step) const {
  out += resp::Command({"HGET", step.name.bytes(), step.owner}).bytes();
}

void LockRecipe::ttl(std::string& out, const LockName& name, bool by_text) const {
  Call(out, lua::lock_ttl, by_text, 1, 0) << name.bytes();
}

const Recipe& lock_recipe() {
  static const LockRecipe recipe;
  return recipe;
}

}  // namespace holdfast::sync
