#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lua_scripts.h"
#include "script/writer.h"
#include "sync/recipes/keys.h"
#include "sync/recipes/kinds.h"
#include "sync/recipes/lock.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;

std::string write_field(const std::string& owner) { return owner + ":write"; }

// The common part of both sides: the key, the channel, and the meaning of replies.
class SideRecipe : public LockRecipe {
 public:
  explicit SideRecipe(std::string_view mode) : mode_(mode) {}

  Channel channel(const LockName& name, const std::string& /*owner*/) const override {
    return rwlock_channel(name);
  }

  Answer acquired(const resp::Reply& reply) const override {
    if (reply.is_nil()) return {Answer::Kind::kGranted, Millis(0)};
    if (reply.integer() == kHoldsGone) return {Answer::Kind::kGone, Millis(0)};
    return held(Millis(reply.integer()));
  }

  void force_release(script::Writer& out, const Step& step) const override {
    out.call(lua::read_write_lock_force_release)
        << step.name.bytes() << rwlock_channel(step.name).bytes() << rwlock_prefix(step.name)
        << mode_ << out.publish();
  }

  void locked(script::Writer& out, const LockName& name) const override {
    out.call(lua::read_write_lock_locked) << name.bytes() << mode_;
  }

  void ttl(script::Writer& out, const LockName& name) const override {
    out.call(lua::lock_ttl) << name.bytes();
  }

 protected:
  static void release_by(const script::Script& script, script::Writer& out, const Step& step) {
    out.call(script) << step.name.bytes() << rwlock_channel(step.name).bytes()
                     << rwlock_prefix(step.name) << step.owner << step.count << out.publish();
  }

  static void extend_by(const script::Script& script, script::Writer& out, const Step& step) {
    out.call(script) << step.name.bytes() << rwlock_channel(step.name).bytes()
                     << rwlock_prefix(step.name) << step.owner << step.lease.count()
                     << out.publish();
  }

 private:
  const std::string_view mode_;
};

class ReadLock final : public SideRecipe {
 public:
  std::string_view kind() const override { return "read"; }
  ReadLock() : SideRecipe("read") {}

  std::vector<const script::Script*> scripts() const override {
    return {&lua::read_write_lock_read_acquire,
            &lua::read_write_lock_read_release,
            &lua::read_write_lock_read_renew,
            &lua::read_write_lock_read_check,
            &lua::read_write_lock_read_extend,
            &lua::read_write_lock_read_holds,
            &lua::read_write_lock_force_release,
            &lua::read_write_lock_locked,
            &lua::lock_ttl};
  }

  Waiting waiting() const override { return Waiting::kTogether; }

  void acquire(script::Writer& out, const Step& step) const override {
    out.call(lua::read_write_lock_read_acquire) << step.name.bytes() << rwlock_prefix(step.name)
                                                << step.owner << step.lease.count() << step.count;
  }

  void release(script::Writer& out, const Step& step) const override {
    release_by(lua::read_write_lock_read_release, out, step);
  }

  void extend(script::Writer& out, const Step& step) const override {
    extend_by(lua::read_write_lock_read_extend, out, step);
  }

  void renew(script::Writer& out, const lease::HoldFields& holds, Millis lease) const override {
    script::Call call = out.call_about(lua::read_write_lock_read_renew, holds.size(), 3);
    for (const auto& [name, owner] : holds) {
      call << name->bytes() << rwlock_prefix(*name) << read_timeout(*name, owner);
    }
    call << lease.count();
    for (const lease::HoldField& hold : holds) call << hold.owner;
  }

  std::vector<std::int64_t> renewed(const resp::Reply& reply, std::size_t holds) const override {
    std::vector<std::int64_t> left(holds);
    for (std::size_t i = 0; i < holds; ++i) left[i] = reply.integer_at(i);
    return left;
  }

  std::size_t renewed_keys() const override { return 3; }

  // The watchdog of Redisson's readers sets the lease of the whole lock to its own.
  std::optional<Millis> found(std::int64_t reply) const override { return Millis(reply); }

  void check(script::Writer& out, const LockName& name, const std::string& owner) const override {
    out.call(lua::read_write_lock_read_check) << name.bytes() << read_timeout(name, owner) << owner;
  }

  std::vector<std::string> keys(const LockName& name, const std::string& owner) const override {
    return {name.text(), read_timeout(name, owner)};
  }

  void hold_count(script::Writer& out, const Step& step) const override {
    out.call(lua::read_write_lock_read_holds)
        << step.name.bytes() << rwlock_prefix(step.name) << step.owner;
  }
};

class WriteLock final : public SideRecipe, public Movable {
 public:
  std::string_view kind() const override { return "write"; }
  WriteLock() : SideRecipe("write") {}

  std::vector<const script::Script*> scripts() const override {
    return {&lua::read_write_lock_write_acquire,
            &lua::read_write_lock_write_release,
            &lua::read_write_lock_write_extend,
            &lua::read_write_lock_force_release,
            &lua::read_write_lock_locked,
            &lua::lock_renew,
            &lua::lock_check,
            &lua::lock_ttl};
  }

  void acquire(script::Writer& out, const Step& step) const override {
    out.call(lua::read_write_lock_write_acquire)
        << step.name.bytes() << step.owner << step.lease.count() << step.count;
  }

  void release(script::Writer& out, const Step& step) const override {
    if (!step.other.empty()) return release_either(out, step);
    release_by(lua::read_write_lock_write_release, out, step);
  }

  const Movable* movable() const override { return this; }
  std::string_view ticket_kind() const override { return "write_lock"; }

  void move(script::Writer& out, const Step& step, const std::string& next) const override {
    out.call(lua::read_write_lock_write_move)
        << step.name.bytes() << rwlock_channel(step.name).bytes() << step.owner << next
        << step.lease.count() << out.publish();
  }

  void renew_either(script::Writer& out, const LockName& name, const lease::Owners& owners,
                    Millis lease) const override {
    out.call(lua::lock_renew_either)
        << name.bytes() << write_field(owners.owner) << write_field(owners.other) << lease.count();
  }

  void extend(script::Writer& out, const Step& step) const override {
    extend_by(lua::read_write_lock_write_extend, out, step);
  }

  void renew(script::Writer& out, const lease::HoldFields& holds, Millis lease) const override {
    std::vector<std::string> owners;
    owners.reserve(holds.size());
    lease::HoldFields fields;
    for (const auto& [name, owner] : holds) {
      fields.push_back({name, owners.emplace_back(write_field(std::string(owner)))});
    }
    renew_locks(out, fields, lease);
  }

  void check(script::Writer& out, const LockName& name, const std::string& owner) const override {
    out.call(lua::lock_check) << name.bytes() << write_field(owner);
  }

  void hold_count(script::Writer& out, const Step& step) const override {
    out.command({"HGET", step.name.bytes(), write_field(step.owner)}, script::kNumberReplies);
  }

 private:
  static void release_either(script::Writer& out, const Step& step) {
    out.call(lua::read_write_lock_write_release_either)
        << step.name.bytes() << rwlock_channel(step.name).bytes() << step.owner << step.other
        << out.publish();
  }
};

}  // namespace

const LockRecipe& read_lock_recipe() {
  static const ReadLock recipe;
  return recipe;
}

const LockRecipe& write_lock_recipe() {
  static const WriteLock recipe;
  return recipe;
}

}  // namespace holdfast::sync
