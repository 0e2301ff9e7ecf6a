#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "locks/sync/operation/synchronizer.h"
#include "simulation/counter_history.h"
#include "simulation/permits_history.h"

namespace holdfast::simulation {

// An owner of a PermitsHistory: takes several permits at once, keeps them, gives them back.
class PermitHolder final : public CounterUser {
 public:
  PermitHolder(const Stage& stage, std::shared_ptr<Client> client, int rounds,
               PermitsHistory& history, std::int64_t most);

  std::string describe() const override;
  std::int64_t wanted() const { return static_cast<std::int64_t>(asked_.size()); }
  // It has the permit, or may have: an operation for it is under way, or has failed.
  bool answers_for(const std::string& permit) const;
  // What its client trusts, the server has; and it loses nothing without a fault.
  void check();

 private:
  enum class Action { kTake, kGiveOne, kGiveTogether };

  void next(int round) override;
  void take();
  void give_one();
  void give_together();
  sync::ExchangePtr release_many();
  void ended(const sync::Outcome& outcome) override;
  void taken(sync::Verdict verdict);
  void given_one(sync::Verdict verdict);
  void given_together(const sync::Outcome& outcome);
  void cancelled() override;
  void leave();
  void drop(OwnerNumber number);
  bool gone(OwnerNumber number) const;
  std::string permit(OwnerNumber number) const;

  PermitsHistory& history_;
  const std::int64_t most_;
  const sync::SynchronizerPtr semaphore_;
  std::vector<OwnerNumber> held_;
  std::vector<OwnerNumber> asked_;  // of what is under way
  std::set<OwnerNumber> leased_;    // that are not renewed
  std::set<std::string> doubted_;   // whose release may go on in the background
  Action action_ = Action::kTake;
  bool blocking_ = true;
  TimePoint deadline_ = kNever;
};

}  // namespace holdfast::simulation
