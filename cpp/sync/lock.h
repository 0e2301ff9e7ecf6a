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
  void acquire(std::string& out, const Step& step) const override;
  Answer acquired(const resp::Reply& reply) const override;
  void release(std::string& out, const Step& step) const override;
  bool transfers() const override { return true; }
  void transfer(std::string& out, const Step& step, const std::string& heir) const override;
  void retain(std::string& out, const Step& step) const override;
  void release_either(std::string& out, const Step& step) const override;
  std::string_view movable_as() const override { return "lock"; }
  void move(std::string& out, const Step& step, const std::string& next) const override;
  void renew_either(std::string& out, const LockName& name, const lease::Owners& owners,
                    Millis lease, bool by_text) const override;
  void force_release(std::string& out, const Step& step) const override;
  void extend(std::string& out, const Step& step) const override;
  void renew(std::string& out, const LockName& name, const std::string& owner, Millis lease,
             bool by_text) const override;
  void check(std::string& out, const LockName& name, const std::string& owner) const override;
  void locked(std::string& out, const LockName& name, bool by_text) const override;
  void hold_count(std::string& out, const Step& step) const override;
  void ttl(std::string& out, const LockName& name, bool by_text) const override;
};

const Recipe& lock_recipe();

}  // namespace holdfast::sync
