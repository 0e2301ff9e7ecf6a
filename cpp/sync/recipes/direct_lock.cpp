#include "lua_scripts.h"
#include "script/writer.h"
#include "sync/recipes/fenced_lock.h"
#include "sync/recipes/keys.h"
#include "sync/recipes/kinds.h"
#include "sync/recipes/lock.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;

// What differs between the two kinds: the scripts, and that one of them mints tokens.
struct Form {
  const script::Script& acquire;
  const script::Script& release;
  const script::Script& transfer;
  std::string (*waiters)(const LockName& name);
  bool has_tokens;

  int keys(int others) const { return others + (has_tokens ? 2 : 1); }
  void add_keys(script::Call& call, const LockName& name) const {
    call << waiters(name);
    if (has_tokens) call << token_counter(name);
  }
};

const Form kPlain{lua::direct_lock_acquire, lua::direct_lock_release, lua::direct_lock_transfer,
                  &lock_waiters, false};
const Form kFenced{lua::direct_fenced_lock_acquire, lua::direct_fenced_lock_release,
                   lua::direct_fenced_lock_transfer, &token_waiters, true};

// A lock of the kind `Base` with waiters in line (decision 52). An attempt of an owner who holds it
// is that of the kind, as such an owner has no place; and so is a release that frees the lock
// later, or not at all.
template <typename Base>
class DirectLock final : public Base {
 public:
  explicit DirectLock(const Form& form) : form_(form) {}

  bool hands_on() const override { return true; }
  std::vector<const script::Script*> scripts() const override {
    std::vector<const script::Script*> all = Base::scripts();
    all.insert(all.end(), {&form_.acquire, &form_.release, &form_.transfer});
    return all;
  }

  void acquire(script::Writer& out, const Step& step) const override {
    if (step.count > 1) return Base::acquire(out, step);
    script::Call call = out.call(form_.acquire, form_.keys(1), 3);
    call << step.name.bytes();
    form_.add_keys(call, step.name);
    call << step.owner << step.lease.count() << (step.acquire_options.in_line ? 1 : 0);
  }

  Answer acquired(const resp::Reply& reply) const override {
    if (!reply.is_array()) return Base::acquired(reply);
    return {Answer::Kind::kHeld, Millis(reply.integer_at(0)), reply.integer_at(1)};
  }

  void release(script::Writer& out, const Step& step) const override {
    const bool frees = step.count == 0 && step.stays == Millis(0) && step.other.empty();
    if (!frees) return Base::release(out, step);
    script::Call call = out.call(form_.release, form_.keys(2), 3);
    call << step.name.bytes() << lock_channel(step.name).bytes();
    form_.add_keys(call, step.name);
    call << step.owner << kHandOnLease.count() << out.publish();
  }

  void transfer(script::Writer& out, const Step& step,
                const std::string& next_waiter) const override {
    script::Call call = out.call(form_.transfer, form_.keys(2), 4);
    call << step.name.bytes() << lock_channel(step.name).bytes();
    form_.add_keys(call, step.name);
    call << step.owner << next_waiter << step.lease.count() << out.publish();
  }

 private:
  const Form& form_;
};

}  // namespace

const LockRecipe& direct_lock_recipe() {
  static const DirectLock<ReentrantLock> recipe(kPlain);
  return recipe;
}

const LockRecipe& direct_fenced_lock_recipe() {
  static const DirectLock<FencedLock> recipe(kFenced);
  return recipe;
}

}  // namespace holdfast::sync
