#pragma once

#include "sync/recipes/recipe.h"

namespace holdfast::sync {

// Lease::Renewal::renew() of all kinds whose holds are fields of a hash.
void renew_locks(script::Writer& out, const lease::HoldFields& holds, Millis lease);

// The reentrant lock: a hash, owner -> hold count (Redisson's RLock). Similar kinds are derived
// from it.
class ReentrantLock : public LockRecipe, public Transferable, public Movable {
 public:
  std::string_view kind() const override { return "lock"; }
  std::vector<const script::Script*> scripts() const override;
  Channel channel(const LockName& name, const std::string& owner) const override;
  void acquire(script::Writer& out, const Step& step) const override;
  Answer acquired(const resp::Reply& reply) const override;
  void release(script::Writer& out, const Step& step) const override;
  const Transferable* transferable() const override { return this; }
  void transfer(script::Writer& out, const Step& step,
                const std::string& next_waiter) const override;
  Answer transferred(const resp::Reply& reply) const override;
  const Movable* movable() const override { return this; }
  std::string_view ticket_kind() const override { return "lock"; }
  void move(script::Writer& out, const Step& step, const std::string& next) const override;
  void renew_either(script::Writer& out, const LockName& name, const lease::Owners& owners,
                    Millis lease) const override;
  void force_release(script::Writer& out, const Step& step) const override;
  void extend(script::Writer& out, const Step& step) const override;
  void renew(script::Writer& out, const lease::HoldFields& holds, Millis lease) const override;
  void check(script::Writer& out, const LockName& name, const std::string& owner) const override;
  void locked(script::Writer& out, const LockName& name) const override;
  void hold_count(script::Writer& out, const Step& step) const override;
  void ttl(script::Writer& out, const LockName& name) const override;
};

}  // namespace holdfast::sync
