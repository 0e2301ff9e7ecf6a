#include "sync/recipes/lock.h"

#include "lua_scripts.h"
#include "script/writer.h"
#include "sync/recipes/keys.h"
#include "sync/recipes/kinds.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;

void retain(script::Writer& out, const Step& step) {
  out.call(lua::lock_retain) << step.name.bytes() << lock_channel(step.name).bytes() << step.owner
                             << (step.other.empty() ? step.owner : step.other) << step.keeper
                             << step.stays.count() << out.publish();
}

void release_either(script::Writer& out, const Step& step) {
  out.call(lua::lock_release_either) << step.name.bytes() << lock_channel(step.name).bytes()
                                     << step.owner << step.other << out.publish();
}

}  // namespace

void renew_locks(script::Writer& out, const lease::HoldFields& holds, Millis lease) {
  script::Call call = out.call_about(lua::lock_renew, holds.size(), 1);
  for (const lease::HoldField& hold : holds) call << hold.name->bytes();
  call << lease.count();
  for (const lease::HoldField& hold : holds) call << hold.owner;
}

std::vector<const script::Script*> ReentrantLock::scripts() const {
  return {&lua::lock_acquire, &lua::lock_release, &lua::lock_transfer,      &lua::lock_renew,
          &lua::lock_check,   &lua::lock_extend,  &lua::lock_force_release, &lua::lock_ttl};
}

Channel ReentrantLock::channel(const LockName& name, const std::string& /*owner*/) const {
  return lock_channel(name);
}

void ReentrantLock::acquire(script::Writer& out, const Step& step) const {
  out.call(lua::lock_acquire) << step.name.bytes() << step.owner << step.lease.count()
                              << step.count;
}

Answer ReentrantLock::acquired(const resp::Reply& reply) const {
  if (reply.is_nil()) return {Answer::Kind::kGranted, Millis(0)};
  if (reply.integer() == kHoldsGone) return {Answer::Kind::kGone, Millis(0)};
  return held(Millis(reply.integer()));
}

void ReentrantLock::release(script::Writer& out, const Step& step) const {
  if (step.stays > Millis(0)) return retain(out, step);
  if (!step.other.empty()) return release_either(out, step);
  out.call(lua::lock_release) << step.name.bytes() << lock_channel(step.name).bytes() << step.owner
                              << step.count << out.publish();
}

void ReentrantLock::transfer(script::Writer& out, const Step& step,
                             const std::string& next_waiter) const {
  out.call(lua::lock_transfer) << step.name.bytes() << lock_channel(step.name).bytes() << step.owner
                               << next_waiter << step.lease.count() << out.publish();
}

Answer ReentrantLock::transferred(const resp::Reply& reply) const {
  if (reply.is_nil()) return {Answer::Kind::kHeld, Millis(0)};
  return {Answer::Kind::kGranted, Millis(0)};
}

void ReentrantLock::move(script::Writer& out, const Step& step, const std::string& next) const {
  out.call(lua::lock_move) << step.name.bytes() << lock_channel(step.name).bytes() << step.owner
                           << next << step.lease.count() << out.publish();
}

void ReentrantLock::renew_either(script::Writer& out, const LockName& name,
                                 const lease::Owners& owners, Millis lease) const {
  out.call(lua::lock_renew_either) << name.bytes() << owners.owner << owners.other << lease.count();
}

void ReentrantLock::force_release(script::Writer& out, const Step& step) const {
  out.call(lua::lock_force_release)
      << step.name.bytes() << lock_channel(step.name).bytes() << out.publish();
}

void ReentrantLock::extend(script::Writer& out, const Step& step) const {
  out.call(lua::lock_extend) << step.name.bytes() << lock_channel(step.name).bytes() << step.owner
                             << step.lease.count() << out.publish();
}

void ReentrantLock::renew(script::Writer& out, const lease::HoldFields& holds, Millis lease) const {
  renew_locks(out, holds, lease);
}

void ReentrantLock::check(script::Writer& out, const LockName& name,
                          const std::string& owner) const {
  out.call(lua::lock_check) << name.bytes() << owner;
}

void ReentrantLock::locked(script::Writer& out, const LockName& name) const {
  out.command({"HLEN", name.bytes()},
              resp::ReplyKinds(resp::ReplyKind::kInteger).within(0, resp::ReplyKinds::kMost));
}

void ReentrantLock::hold_count(script::Writer& out, const Step& step) const {
  out.command({"HGET", step.name.bytes(), step.owner}, script::kNumberReplies);
}

void ReentrantLock::ttl(script::Writer& out, const LockName& name) const {
  out.call(lua::lock_ttl) << name.bytes();
}

const LockRecipe& lock_recipe() {
  static const ReentrantLock recipe;
  return recipe;
}

}  // namespace holdfast::sync
