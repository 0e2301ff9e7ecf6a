#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sync/recipes/lock.h"

namespace holdfast::sync {

// See fenced_lock_recipe().
class FencedLock : public ReentrantLock {
 public:
  std::string_view kind() const override { return "fenced_lock"; }
  std::vector<const script::Script*> scripts() const override;
  std::string_view ticket_kind() const override { return "fenced_lock"; }
  void acquire(script::Writer& out, const Step& step) const override;
  Answer acquired(const resp::Reply& reply) const override;
  void transfer(script::Writer& out, const Step& step,
                const std::string& next_waiter) const override;
  Answer transferred(const resp::Reply& reply) const override;
};

}  // namespace holdfast::sync
