#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/client.h"
#include "support/network.h"
#include "support/server.h"
#include "support/world.h"

namespace holdfast::simulation {

// How bad the world of a history is.
enum class Climate {
  kCalm,      // nothing fails
  kCancels,   // callers change their minds, owners end, locks are released by force, scripts
              // forgotten
  kCuts,      // and connections break, before or after their commands were executed
  kStalls,    // and the server pauses, or the network swallows what a connection carries
  kRestarts,  // and the server starts anew, with or without its data
  kMoods,     // and it refuses commands for a while, and clients are closed
};

// What became of a history.
struct Report {
  std::optional<Violation> violation;
  int acquisitions = 0;
  int grants = 0;
  std::uint64_t steps = 0;
  std::vector<std::string> diary;
};

// A few clients, one server, and what happens to them, by a seed. What the owners do, and what must
// be true of it, is a subclass's.
class History {
 public:
  virtual ~History() = default;
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  virtual Report run() = 0;

 protected:
  History(std::uint64_t seed, bool tracing, Climate worst = Climate::kMoods);

  // For a subclass's constructor, in this order: its own plan, clients, faults. `longer`: how many
  // times the leases of a client that renews them are longer than usual.
  void plan_weather();
  const std::shared_ptr<Client>& plan_client(int replicas = 0, int longer = 1);
  void plan_faults();
  // The server refuses to work for a moment, some times, and a client may be closed.
  void plan_refusals();
  // For its destructor.
  void shut_down();

  virtual bool all_over() const = 0;
  virtual void check() = 0;  // after each step
  virtual bool may_lose_data() const { return true; }

  bool at_least(Climate climate) const { return climate_ >= climate; }
  void blame(const std::string& what);
  // What may be for a moment, while a few packets are on their way, but must not last.
  void bound(bool wrong, TimePoint& since, const std::string& what);
  // Runs until no event is left, or until this time; returns false at the first violation.
  bool go_on(TimePoint until, bool for_actors);
  // The same after the owners have ended, until the last fault and its effects are over.
  bool rest(TimePoint start, Duration longer);
  Report report();

  World world_;
  const Climate climate_;
  Server server_;
  Network network_;
  SteppedLoop loop_;
  std::optional<Violation> violation_;
  std::vector<std::shared_ptr<Client>> clients_;

 private:
  void one_fault();
  void cut(bool executed);
  void stall();
  void restart();
  void refuse();
  void close_a_client();
  bool advance(TimePoint until);

  std::uint64_t steps_ = 0;
  std::uint64_t steps_now_ = 0;  // without time going on
};

}  // namespace holdfast::simulation
