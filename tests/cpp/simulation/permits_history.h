#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "simulation/counter_history.h"

namespace holdfast::simulation {

// One random history of a permit semaphore: owners take several permits at once, which are renewed
// or expire, and give them back one by one or together. Each of these steps is all or none.
class PermitsHistory final : public History, private Witness {
 public:
  PermitsHistory(std::uint64_t seed, bool tracing);
  ~PermitsHistory() override;
  PermitsHistory(const PermitsHistory&) = delete;
  PermitsHistory& operator=(const PermitsHistory&) = delete;

  Report run() override;

  // For its users. As many numbers that follow each other, which no permit has had.
  OwnerNumber next_numbers(std::int64_t amount);
  // By the server: it is in use, and its lease is not over.
  bool in_use(const std::string& permit);
  // An owner has it now. False: the server has never given it out.
  bool had(const std::string& permit) {
    had_.insert(permit);
    return given_.count(permit) != 0;
  }
  // Its client has reported that it is lost.
  bool lost(OwnerNumber number) const { return lost_.count(number) != 0; }

 private:
  // When each permit that is not free expires, in the server's milliseconds.
  using InUse = std::map<std::string, std::int64_t>;

  bool all_over() const override;
  bool may_lose_data() const override { return false; }
  void plan_users();
  void executed(const script::Script& script, const Words& command, const Answer& answer) override;
  void published(const std::string& /*channel*/) override {}
  void forgot() override {}
  void took(const std::vector<std::string>& permits, const InUse& before);
  void gave_back(std::string_view script, const std::vector<std::string>& permits,
                 const InUse& before);
  InUse permits_in_use();
  std::int64_t live();
  std::int64_t counter();
  bool stalled();
  bool orphaned();
  void check() override;
  void check_end();

  const LockName name_{"permits"};
  const std::int64_t permits_;
  unsigned cancels_ = 0;
  std::uint64_t numbers_ = 0;
  std::vector<std::shared_ptr<CounterUser>> users_;
  InUse in_use_;                 // after the last script
  std::set<std::string> given_;  // that were ever in use
  std::set<std::string> had_;    // of which an owner knew
  std::set<OwnerNumber> lost_;
  int grants_ = 0;
  TimePoint orphaned_since_ = kNever;
  TimePoint stalled_since_ = kNever;
};

}  // namespace holdfast::simulation
