#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "locks/sync/operation/ticket.h"
#include "locks/sync/recipes/recipe.h"
#include "simulation/counter_history.h"

namespace holdfast::simulation {

// A hold that goes from hand to hand: owners of a few clients acquire one lock, release it, some of
// them late because of a minimum hold time, or detach it and leave the ticket for others to attach.
class TransferHistory final : public History {
 public:
  TransferHistory(std::uint64_t seed, bool tracing);
  ~TransferHistory() override;

  Report run() override;

  class Courier;
  // A ticket on its way. `sure_until`: no owner has tried it, so the lock is held until then.
  struct Letter {
    sync::Ticket ticket;
    TimePoint sure_until = kNever;
  };

  const sync::LockRecipe& recipe() const { return *recipe_; }
  const LockName& name() const { return name_; }
  void post(Letter letter) { letters_.push_back(std::move(letter)); }
  std::optional<Letter> take();
  void attached(const sync::Ticket& ticket);
  void acquired() { ++grants_; }
  // The lock was released before its minimum hold time, which ends then.
  void stays_closed(TimePoint until) { closed_until_ = std::max(closed_until_, until); }
  // The owner's fields that the server has for this lock.
  std::vector<std::string> owners();

 private:
  bool all_over() const override;
  void check() override;
  bool may_lose_data() const override { return false; }

  const LockName name_;
  const sync::LockRecipe* const recipe_;
  std::vector<std::shared_ptr<Courier>> couriers_;
  std::vector<Letter> letters_;
  std::map<std::string, int> attached_;  // how often, by a ticket's field
  TimePoint closed_until_{};
  int grants_ = 0;
};

}  // namespace holdfast::simulation
