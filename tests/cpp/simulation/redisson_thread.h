#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/kind.h"
#include "simulation/redisson_steps.h"
#include "support/server.h"

namespace holdfast::simulation {

// A thread of a Java program that uses Redisson on the names of a schedule: it takes locks, renews
// them by a watchdog with another lease, releases them, also by force, and may die between any two
// steps. It has no network: a step that the server cannot carry out now comes later.
class RedissonThread final : public std::enable_shared_from_this<RedissonThread> {
 public:
  struct Plan {
    std::string owner;
    Redisson version = Redisson::k4_7_0;
    Millis watch_lease{1000};  // its client's lockWatchdogTimeout
    int rounds = 2;
    unsigned deaths = 300;  // per mille of what it does while it holds
    unsigned forces = 100;  // per mille of the rounds
  };

  RedissonThread(World& world, Server& server, const Kind& kind, Plan plan);

  // With all sides of each name.
  void begin(std::vector<LockName> locks);

  bool over() const { return over_; }

 private:
  void again(Duration within);
  void next();
  void begin_round();
  void go_on();
  void start_watchdog();
  void renew(std::uint64_t watchdog);
  std::optional<Answer> act(RedissonStep step);
  RedissonSteps steps() const { return {kind_, plan_.version, *lock_, plan_.owner}; }

  World& world_;
  Server& server_;
  const Kind& kind_;
  Plan plan_;
  std::vector<LockName> locks_;
  std::optional<LockName> lock_;  // that it holds, or did
  int depth_ = 0;
  Millis lease_{0};
  std::uint64_t watchdog_ = 0;  // the number of the one that runs
  bool watched_ = false;
  bool over_ = false;
};

}  // namespace holdfast::simulation
