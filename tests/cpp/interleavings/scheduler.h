#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "interleavings/sync_points.h"
#include "support/world.h"

namespace holdfast::interleavings {

using simulation::Random;
using simulation::Readiness;
using simulation::World;

// How the next thread is chosen.
enum class Strategy {
  kWalk,        // at random: mostly the same one goes on, as on a real machine
  kPriorities,  // the one of the highest priority, which falls at a few random points
};

// Real threads of which exactly one runs at a time. At each point of sync_points.h it chooses by a
// seed which goes on, so a seed gives the same order again. Time passes only when every thread
// waits, for something that is not there or for its time; now and then a thread is made to stand
// still for a while, as the system may do to it.
//
// kPriorities: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A Randomized Scheduler with
// Probabilistic Guarantees of Finding Bugs" (2010): an order that takes d changes of the running
// thread is found with a probability of 1 / (threads * points^(d-1)) at least.
class Scheduler {
 public:
  Scheduler(World& world, const Readiness& network, std::uint64_t seed);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Before run(). A daemon is to return once stopping() is true, which is looked at as part of what
  // it waits for.
  enum class Kind { kUsual, kDaemon };
  void add(std::string name, std::function<void()> body, Kind kind = Kind::kUsual);

  // Lets all threads run to their ends. Where none of them can go on any more, or they do not come
  // to an end, prints the last points and ends the process.
  void run();

  bool stopping() const { return stopping_; }
  std::uint64_t points() const { return points_; }
  // The end of the last suspension of a thread.
  TimePoint stood_still_until() const { return stood_still_until_; }

  // Of the threads that it runs.
  static Scheduler* current();
  void pass(const char* what, const void* where, const Awaited& awaited);
  TimePoint now() const { return world_.now(); }
  const Readiness& network() const { return network_; }

  // What a failure is reported with, before the last points.
  std::string heading;

 private:
  struct Thread;
  struct Point {
    const Thread* thread = nullptr;
    const char* what = "";
    std::size_t object = 0;
    TimePoint at{};
  };

  void body(Thread& thread);
  void disturb(Thread& running, std::string_view what);
  Thread* choose(Thread* running);
  bool may_run(const Thread& thread) const;
  bool pass_time();
  void note(const Thread& thread, const char* what, const void* where);
  std::size_t number_of(const void* where);
  [[noreturn]] void give_up(const char* why) const;
  std::string line(const Point& point) const;

  World& world_;
  const Readiness& network_;
  Random random_;
  Strategy strategy_ = Strategy::kWalk;
  unsigned switches_ = 0;               // per mille of the points, of kWalk
  unsigned stalls_ = 0;                 // per mille of the points
  std::vector<std::uint64_t> changes_;  // the points at which a priority falls
  int lowest_ = 0;
  TimePoint stood_still_until_{};
  std::vector<std::unique_ptr<Thread>> threads_;
  std::size_t usual_ = 0;  // that have not ended
  bool stopping_ = false;
  std::uint64_t points_ = 0;
  std::vector<Point> last_;  // a ring
  std::vector<const void*> objects_;
};

}  // namespace holdfast::interleavings
