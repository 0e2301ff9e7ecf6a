#pragma once

#include "sync/recipe.h"

namespace holdfast::sync {

// The reentrant lock: a hash, owner -> hold count (Redisson's RLock). Kinds that differ from it in
// a part only are derived from it.
class LockRecipe : public Recipe {
 public:
  std::string_view kind() const override { return "lock"; }
  std::vector<const script::Script*> scripts() const override;
  Channel channel(const LockName& name, const std::string& owner) const override;
  void acquire(script::Writer& out, const Step& step) const override;
  Answer acquired(const resp::Reply& reply) const override;
  void release(script::Writer& out, const Step& step) const override;
  bool transfers() const override { return true; }
  void transfer(script::Writer& out, const Step& step, const std::string& heir) const override;
  void retain(script::Writer& out, const Step& step) const override;
  void release_either(script::Writer& out, const Step& step) const override;
  std::string_view movable_as() const override { return "lock"; }
  void move(script::Writer& out, const Step& step, const std::string& next) const override;
  void renew_either(script::Writer& out, const LockName& name, const lease::Owners& owners,
                    Millis lease) const override;
  void force_release(script::Writer& out, const Step& step) const override;
  void extend(script::Writer& out, const Step& step) const override;
  void renew(script::Writer& out, const LockName& name, const std::string& owner,
             Millis lease) const override;
  void check(script::Writer& out, const LockName& name, const std::string& owner) const override;
  void locked(script::Writer& out, const LockName& name) const override;
  void hold_count(script::Writer& out, const Step& step) const override;
  void ttl(script::Writer& out, const LockName& name) const override;
};

const Recipe& lock_recipe();

}  // namespace holdfast::sync
