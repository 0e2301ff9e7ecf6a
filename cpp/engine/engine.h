#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/event_queue.h"
#include "lease/lease_keeper.h"
#include "net/event_loop.h"
#include "topology/setup.h"

namespace holdfast::engine {

// Shared by all clients of a process: the threads, the clock, the queue of events. It is made on
// first use and never destroyed: threads of Python may be inside until the very end. After fork()
// the child makes a new one and drops its parent's, whose mutexes other threads may hold for ever.
class Engine {
 public:
  static Engine& instance();

  // How many threads the watchdog has (2); for clients made from now on.
  static void set_watchdog_threads(std::size_t count);

  const Clock& clock() const { return clock_; }
  const std::shared_ptr<EventQueue>& events() const { return events_; }

  // The loops of one more client: the watchdog's threads take turns.
  topology::Loops assign_loops();

  // The holds of a thread or task that has ended are given up in every client that was added.
  void add(std::weak_ptr<lease::LeaseKeeper> keeper);
  void owner_ended(OwnerNumber owner, const std::string& what);

 private:
  Engine();

  SystemClock clock_;
  const std::shared_ptr<EventQueue> events_;
  std::mutex mutex_;
  std::unique_ptr<net::EventLoop> io_;
  std::vector<std::unique_ptr<net::EventLoop>> watchdog_;
  std::size_t next_ = 0;
  std::vector<std::weak_ptr<lease::LeaseKeeper>> keepers_;
};

// The calling thread as an owner: a unique number from its first use to its end, of which the
// engine is notified.
OwnerNumber current_thread_owner();

// The system's id of the thread that has that number; 0: there is none.
int thread_of(OwnerNumber owner);

}  // namespace holdfast::engine
