#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "locks/engine/event_queue.h"
#include "locks/lease/keeper.h"
#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/base/process.h"
#include "redis/client.h"

namespace holdfast::engine {

// Shared by all clients of a process: the threads, the clock, the queue of events. It is made on
// first use and never destroyed: threads of Python may use it until the process ends. Its threads
// and descriptors exist while a client is open. After fork() the child makes a new one and drops
// its parent's, whose mutexes other threads may hold for ever.
class Engine {
 public:
  // A client is open as long as its Usage exists. After the last one, the threads end as soon as
  // they have no more work.
  class Usage {
   public:
    explicit Usage(Engine& engine);
    ~Usage();
    Usage(const Usage&) = delete;
    Usage& operator=(const Usage&) = delete;

    // The client's loops: the watchdog's threads take turns.
    topology::Loops loops() const { return {io_, watchdog_}; }

    // Starts their threads, all or none: throws LimitReached, and may be called again. Until then
    // nothing may depend on a step of a loop.
    void start();

   private:
    Engine& engine_;
    net::EventLoop& io_;
    net::EventLoop& watchdog_;
  };

  // Kept until all that a closed client has to report is posted: the reading of events, and the
  // thread of its loop, go on until then.
  class Reports {
   public:
    Reports(Engine& engine, const net::Loop& loop);
    ~Reports();
    Reports(const Reports&) = delete;
    Reports& operator=(const Reports&) = delete;

   private:
    Engine& engine_;
    const net::Loop& loop_;
  };

  static Engine& instance();

  // The number of the watchdog's threads (2); for clients made from now on.
  static void set_watchdog_threads(std::size_t count);

  const Clock& clock() const { return clock_; }
  const std::shared_ptr<EventQueue>& events() const { return events_; }

  // Waits, for `longest` at most, until the threads have ended, if no client is open; not for those
  // that closed clients keep.
  void await_end_of_threads(Duration longest);

  // The owner's thread or task has ended: every added client stops renewing its holds.
  void add(std::weak_ptr<lease::Keeper> keeper);
  void owner_ended(OwnerNumber owner, const std::string& what);

 private:
  friend class OfProcess<Engine>;
  Engine();
  Engine& begin_use();
  net::EventLoop& assign_watchdog();
  void stop_events_if_unused() HOLDFAST_REQUIRES(mutex_);
  std::vector<net::EventLoop*> loops() HOLDFAST_REQUIRES(mutex_);

  SystemClock clock_;
  const std::shared_ptr<EventQueue> events_;
  Mutex mutex_;
  const std::unique_ptr<net::EventLoop> io_;
  std::vector<std::unique_ptr<net::EventLoop>> watchdog_ HOLDFAST_GUARDED_BY(mutex_);
  std::size_t next_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  int usages_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::vector<const net::Loop*> reporting_ HOLDFAST_GUARDED_BY(mutex_);  // each as often as kept
  std::vector<std::weak_ptr<lease::Keeper>> keepers_ HOLDFAST_GUARDED_BY(mutex_);
};

// The calling thread as an owner: a unique number from its first use to its end, of which the
// engine is notified.
OwnerNumber current_thread_owner();

// The system's id of the thread with that number; 0: there is none.
int thread_of(OwnerNumber owner);

}  // namespace holdfast::engine
