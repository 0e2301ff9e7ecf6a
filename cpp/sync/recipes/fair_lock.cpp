#include "lua_scripts.h"
#include "script/writer.h"
#include "sync/recipes/keys.h"
#include "sync/recipes/kinds.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;

// After the grant it is an ordinary lock: only the acquisition, and the message of a release,
// differ.
class FairLock final : public LockRecipe, public Movable {
 public:
  std::string_view kind() const override { return "fair_lock"; }
  std::vector<const script::Script*> scripts() const override {
    return {&lua::fair_lock_acquire, &lua::fair_lock_release, &lua::fair_lock_force_release,
            &lua::lock_renew,        &lua::lock_check,        &lua::fair_lock_extend,
            &lua::lock_ttl};
  }

  Waiting waiting() const override { return Waiting::kInLine; }

  Channel channel(const LockName& name, const std::string& owner) const override {
    return Channel(lock_channel(name).bytes() + ':' + owner);
  }

  void acquire(script::Writer& out, const Step& step) const override {
    out.call(lua::fair_lock_acquire)
        << step.name.bytes() << fair_queue(step.name) << fair_timeouts(step.name) << step.owner
        << step.lease.count() << step.count << step.acquire_options.queue_timeout.count();
  }

  Answer acquired(const resp::Reply& reply) const override {
    if (reply.is_nil() || reply.integer() >= kHoldsGone) return plain_.acquired(reply);
    Answer answer = held(kWithoutTtl);
    answer.ttl = Millis(kHoldsGone - reply.integer());
    return answer;
  }

  void release(script::Writer& out, const Step& step) const override {
    if (!step.other.empty()) return release_either(out, step);
    out.call(lua::fair_lock_release)
        << step.name.bytes() << fair_queue(step.name) << fair_timeouts(step.name)
        << lock_channel(step.name).bytes() << step.owner << step.count << out.publish();
  }

  const Movable* movable() const override { return this; }
  std::string_view ticket_kind() const override { return "fair_lock"; }

  void move(script::Writer& out, const Step& step, const std::string& next) const override {
    out.call(lua::fair_lock_move) << step.name.bytes() << fair_queue(step.name)
                                  << fair_timeouts(step.name) << lock_channel(step.name).bytes()
                                  << step.owner << next << step.lease.count() << out.publish();
  }

  void renew_either(script::Writer& out, const LockName& name, const lease::Owners& owners,
                    Millis lease) const override {
    plain_.renew_either(out, name, owners, lease);
  }

  void force_release(script::Writer& out, const Step& step) const override {
    out.call(lua::fair_lock_force_release)
        << step.name.bytes() << fair_queue(step.name) << fair_timeouts(step.name)
        << lock_channel(step.name).bytes() << out.publish();
  }

  void extend(script::Writer& out, const Step& step) const override {
    out.call(lua::fair_lock_extend)
        << step.name.bytes() << fair_queue(step.name) << fair_timeouts(step.name)
        << lock_channel(step.name).bytes() << step.owner << step.lease.count() << out.publish();
  }

  void renew(script::Writer& out, const lease::HoldFields& holds, Millis lease) const override {
    plain_.renew(out, holds, lease);
  }

  void check(script::Writer& out, const LockName& name, const std::string& owner) const override {
    plain_.check(out, name, owner);
  }

  void locked(script::Writer& out, const LockName& name) const override {
    plain_.locked(out, name);
  }

  void hold_count(script::Writer& out, const Step& step) const override {
    plain_.hold_count(out, step);
  }

  void ttl(script::Writer& out, const LockName& name) const override { plain_.ttl(out, name); }

 private:
  static void release_either(script::Writer& out, const Step& step) {
    out.call(lua::fair_lock_release_either)
        << step.name.bytes() << fair_queue(step.name) << fair_timeouts(step.name)
        << lock_channel(step.name).bytes() << step.owner << step.other << out.publish();
  }

  const LockRecipe& plain_ = lock_recipe();
};

}  // namespace

const LockRecipe& fair_lock_recipe() {
  static const FairLock recipe;
  return recipe;
}

}  // namespace holdfast::sync
