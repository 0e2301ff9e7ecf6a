#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/actor.h"
#include "simulation/kind.h"
#include "simulation/ledger.h"
#include "support/client.h"
#include "support/network.h"
#include "support/server.h"
#include "support/world.h"

namespace holdfast::simulation {

// How bad the world of a schedule is.
enum class Climate {
  kCalm,      // nothing fails
  kCancels,   // callers change their minds, owners end, locks are released by force, scripts
              // forgotten
  kCuts,      // and connections break, before or after their commands were executed
  kStalls,    // and the server pauses, or the network swallows what a connection carries
  kRestarts,  // and the server starts anew, with or without its data
  kMoods,     // and it refuses commands for a while, and clients are closed
};
constexpr int kClimates = 6;

// What became of a schedule.
struct Report {
  std::optional<Violation> violation;
  int acquisitions = 0;
  int grants = 0;
  std::uint64_t steps = 0;
  std::vector<std::string> diary;
};

// One random history: a few clients with a few owners each, one server, and what happens to them.
// The same seed gives the same history for the same kind.
class Schedule {
 public:
  // `replicas`: of which the clients want each grant confirmed.
  Schedule(const Kind& kind, std::uint64_t seed, bool tracing, int replicas = 0);
  ~Schedule();
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  Report run();

 private:
  bool at_least(Climate climate) const { return climate_ >= climate; }
  void plan_script();
  void plan_clients(int replicas);
  void plan_faults();
  void one_fault();
  void cut(bool executed);
  void stall();
  void restart();
  void refuse();
  void close_a_client();

  // Until nobody has anything to do any more, or for so long; false at the first violation.
  bool go_on(TimePoint until, bool for_actors);
  bool advance(TimePoint until);
  bool all_over() const;
  void check();
  void bound(bool wrong, TimePoint& since, const std::string& what);
  bool neglected(const LockName& lock);
  bool orphaned(const std::string& name);
  void check_renewal(const std::string& name, const std::string& field);
  // Of whichever owner and side has that field on the server.
  bool any_side(const std::string& name, const std::string& field,
                const std::function<bool(const Actor&, const LockName&)>& what) const;
  void check_leftovers();
  void check_effort();
  int most_heads() const;
  int unasked_looks() const;
  void blame(const std::string& what);
  Actor* actor(const std::string& client, std::uint64_t number);

  World world_;
  const Climate climate_;
  Server server_;
  Network network_;
  SteppedLoop loop_;
  Script script_;
  std::optional<Violation> violation_;
  Ledger ledger_;
  std::vector<std::shared_ptr<Client>> clients_;
  std::vector<std::shared_ptr<Actor>> actors_;
  std::vector<std::string> names_;
  std::uint64_t numbers_ = 0;  // of owners, used so far
  // Of each lock, and each name: since when what must not last.
  std::vector<TimePoint> neglected_since_;
  std::vector<TimePoint> orphaned_since_;
  std::uint64_t steps_ = 0;
  std::uint64_t steps_now_ = 0;  // without time going on
};

}  // namespace holdfast::simulation
