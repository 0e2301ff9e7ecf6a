#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simulation/actor.h"
#include "simulation/history.h"
#include "simulation/kind.h"
#include "simulation/ledger.h"
#include "simulation/redisson_thread.h"

namespace holdfast::simulation {

// One random history of locks of one kind, with a few owners of each client. The same seed gives
// the same history for the same kind.
class Schedule final : public History {
 public:
  // Threads of Redisson that use the same locks.
  enum class Beside {
    kNone,
    kRedisson,
    // Its watchdogs' leases are shorter than ours, and it has readers; no connection breaks.
    kShorterReaders,
  };

  struct Variant {
    int replicas = 0;      // of which the clients want each grant confirmed
    unsigned defers = 0;   // per mille of the releases: not awaited
    bool leavers = false;  // callers leave their releases, on a server that refuses now and then
    Beside beside = Beside::kNone;
  };

  Schedule(const Kind& kind, std::uint64_t seed, bool tracing, const Variant& variant);
  ~Schedule() override;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  Report run() override;

 private:
  void plan_script();
  void plan_owners(const Variant& variant);
  void plan_leavers();
  void plan_redisson(Beside beside);
  RedissonThread::Plan plan_thread(Beside beside, std::size_t number);

  bool all_over() const override;
  void check() override;
  bool stalled(const LockName& lock);
  bool orphaned(const std::string& name);
  void check_renewal(const std::string& name, const std::string& field);
  // Of whichever owner and side has that field on the server.
  bool any_side(const std::string& name, const std::string& field,
                const std::function<bool(const Actor&, const LockName&)>& what) const;
  void check_leftovers();
  Duration longest_lease() const;
  void check_effort();
  int most_heads() const;
  int unasked_looks() const;
  Actor* actor(const std::string& client, std::uint64_t number);

  const int longer_;  // the factor by which the leases that are renewed are longer than usual
  Script script_;
  Ledger ledger_;
  TrustTrace trust_;
  std::vector<std::shared_ptr<Actor>> actors_;
  std::vector<std::shared_ptr<RedissonThread>> redisson_;
  std::vector<std::string> names_;
  std::uint64_t numbers_ = kFirstOwnerNumber;  // of owners, used so far
  // Of each lock, and each name: since when what must not last.
  std::vector<TimePoint> stalled_since_;
  std::vector<TimePoint> orphaned_since_;
};

}  // namespace holdfast::simulation
