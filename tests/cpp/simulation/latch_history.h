#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "simulation/counter_history.h"

namespace holdfast::simulation {

// One random history of a latch: owners wait for it, count it down, and close it again.
class LatchHistory final : public CounterHistory {
 public:
  LatchHistory(std::uint64_t seed, bool tracing);
  ~LatchHistory() override { shut_down(); }
  LatchHistory(const LatchHistory&) = delete;
  LatchHistory& operator=(const LatchHistory&) = delete;

  // It was open then or has been since.
  bool open_since(TimePoint moment) { return too_late() || value() <= 0 || last_open_ >= moment; }

 private:
  std::shared_ptr<CounterUser> make_user(const std::shared_ptr<Client>& client,
                                         int rounds) override;
  void changed(std::string_view script, const std::string& request, const Words& command,
               std::int64_t by) override;
  void opened();
  bool listens(const CounterUser& user) const;
  void check() override;
  void check_end() override {}

  TimePoint last_open_{};
  std::set<std::string> counted_;  // the requests that have changed it
  TimePoint slept_beside_since_ = kNever;
  TimePoint slept_on_since_ = kNever;
};

}  // namespace holdfast::simulation
