#include "sync/fair_lock.h"

#include "lua_scripts.h"
#include "script/script.h"
#include "sync/keys.h"
#include "sync/lock.h"

namespace holdfast::sync {

namespace {

using script::Call;
namespace lua = script::lua;

// Once granted, it is a lock as any other: only the way to it, and what a release tells, differ.
class FairLock final : public Recipe {
 public:
  std::string_view kind() const override { return "fair_lock"; }
  std::vector<const script::Script*> scripts() const override {
    return {&lua::fair_lock_acquire, &lua::fair_lock_release, &lua::fair_lock_force_release,
            &lua::lock_renew,        &lua::fair_lock_extend,  &lua::lock_ttl};
  }

  Waiting waiting() const override { return Waiting::kInLine; }

  Channel channel(const LockName& name, const std::string& owner) const override {
    return Channel(lock_channel(name).bytes() + ':' + owner);
  }

  void acquire(std::string& out, const Step& step) const override {
    Call(out, lua::fair_lock_acquire, step.by_text, 3, 4)
        << step.name.bytes() << fair_queue(step.name) << fair_timeouts(step.name) << step.owner
        << step.lease.count() << step.count << step.acquire_options.queue_timeout.count();
  }

  Answer acquired(const resp::Reply& reply) const override { return plain_.acquired(reply); }

  void release(std::string& out, const Step& step) const override {
    Call(out, lua::fair_lock_release, step.by_text, 4, 3)
        << step.name.bytes() << fair_queue(step.name) << fair_timeouts(step.name)
        << lock_channel(step.name).bytes() << step.owner << step.count << step.publish;
  }

  void release_either(std::string& out, const Step& step) const override {
    Call(out, lua::fair_lock_release_either, step.by_text, 4, 3)
        << step.name.bytes() << fair_queue(step.name) << fair_timeouts(step.name)
        << lock_channel(step.name).bytes() << step.owner << step.other << step.publish;
  }

  std::string_view movable_as() const override { return "fair_lock"; }

  void move(std::string& out, const Step& step, const std::string& next) const override {
    Call(out, lua::fair_lock_move, step.by_text, 4, 4)
        << step.name.bytes() << fair_queue(step.name) << fair_timeouts(step.name)
        << lock_channel(step.name).bytes() << step.owner << next << step.lease.count()
        << step.publish;
  }

  void renew_either(std::string& out, const LockName& name, const lease::Owners& owners,
                    Millis lease, bool by_text) const override {
    plain_.renew_either(out, name, owners, lease, by_text);
  }

  void force_release(std::string& out, const Step& step) const override {
    Call(out, lua::fair_lock_force_release, step.by_text, 4, 1)
        << step.name.bytes() << fair_queue(step.name) << fair_timeouts(step.name)
        << lock_channel(step.name).bytes() << step.publish;
  }

  void extend(std::string& out, const Step& step) const override {
    Call(out, lua::fair_lock_extend, step.by_text, 4, 3)
        << step.name.bytes() << fair_queue(step.name) << fair_timeouts(step.name)
        << lock_channel(step.name).bytes() << step.owner << step.lease.count() << step.publish;
  }

  void renew(std::string& out, const LockName& name, const std::string& owner, Millis lease,
             bool by_text) const override {
    plain_.renew(out, name, owner, lease, by_text);
  }

  void check(std::string& out, const LockName& name, const std::string& owner) const override {
    plain_.check(out, name, owner);
  }

  void locked(std::string& out, const LockName& name, bool by_text) const override {
    plain_.locked(out, name, by_text);
  }

  void hold_count(std::string& out, const Step& step) const override {
    plain_.hold_count(out, step);
  }

  void ttl(std::string& out, const LockName& name, bool by_text) const override {
    plain_.ttl(out, name, by_text);
  }

 private:
  const Recipe& plain_ = lock_recipe();
};

}  // namespace

const Recipe& fair_lock_recipe() {
  static const FairLock recipe;
  return recipe;
}

}  // namespace holdfast::sync
