#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "locks/lease/keeper.h"
#include "locks/sync/operation/replica_acknowledger.h"
#include "locks/sync/operation/timers.h"
#include "locks/sync/recipes/counter.h"
#include "locks/wait/wait_registry.h"
#include "redis/base/clock.h"
#include "redis/base/process.h"
#include "redis/base/stats.h"
#include "redis/client.h"
#include "redis/script/writer.h"

namespace holdfast::sync {

class Keepings;
std::shared_ptr<Keepings> new_keepings();

// The environment of the operations of one client. All of it is thread-safe and outlives them.
struct Context {
  const Clock& clock;
  const std::string client_id;
  const Millis command_timeout;
  const std::shared_ptr<topology::Topology> topology;
  const std::shared_ptr<lease::Keeper> keeper;
  const std::shared_ptr<wait::WaitRegistry> waits;
  const std::shared_ptr<Timers> timers;
  const std::shared_ptr<ReplicaAcknowledger> acknowledger{};  // null: grants need none
  const std::shared_ptr<Stats> stats = std::make_shared<Stats>();
  const bool busy_poll = false;  // callers may look for a reply before they sleep
  const std::shared_ptr<RequestSlots> slots = std::make_shared<RequestSlots>();
  const std::shared_ptr<Keepings> keepings = new_keepings();
  const std::uint64_t epoch =
      fork_epoch();  // of the process that made this: see Exchange::inherited()

  // Writes a command of this client for the current topology. `by_text`: scripts with their text.
  script::Writer writer(std::string& out, bool by_text = false) const {
    return {out, by_text, topology->publish_command()};
  }
};

}  // namespace holdfast::sync
