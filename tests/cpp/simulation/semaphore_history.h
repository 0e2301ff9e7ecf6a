#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "simulation/counter_history.h"

namespace holdfast::simulation {

// One random history of a semaphore: owners take permits and give them back.
class SemaphoreHistory final : public CounterHistory {
 public:
  SemaphoreHistory(std::uint64_t seed, bool tracing);
  ~SemaphoreHistory() override { shut_down(); }
  SemaphoreHistory(const SemaphoreHistory&) = delete;
  SemaphoreHistory& operator=(const SemaphoreHistory&) = delete;

  // The request has taken permits, which were not taken back.
  bool may_have(const std::string& request) const;
  // Its caller knows of them.
  void acknowledged(const std::string& request) { unknown_.erase(request); }
  // It is not certain any more that these permits come back.
  void give_up(std::int64_t permits) { given_up_ += permits; }

 private:
  struct Request {
    std::int64_t taken = 0;
    std::int64_t added = 0;
    bool undone = false;
  };

  std::shared_ptr<CounterUser> make_user(const std::shared_ptr<Client>& client,
                                         int rounds) override;
  void changed(std::string_view script, const std::string& request, const Words& command,
               std::int64_t by) override;
  void took(const std::string& id, std::int64_t by, std::int64_t wanted);
  void gave(const std::string& id, std::int64_t by, std::int64_t wanted);
  void took_back(const std::string& id, std::int64_t by);
  bool stalled();
  bool orphaned() const;
  void check() override;
  void check_end() override;

  const std::int64_t permits_;
  std::int64_t given_up_ = 0;
  std::map<std::string, Request> requests_;
  std::set<std::string> unknown_;  // have taken permits that were not reported to a caller
  TimePoint orphaned_since_ = kNever;
  TimePoint stalled_since_ = kNever;
};

}  // namespace holdfast::simulation
