#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "redis/base/clock.h"
#include "redis/net/pollable.h"

namespace holdfast::simulation {

// Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014): small, and the same
// everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  bool chance(unsigned per_mille) { return below(1000) < per_mille; }
  Duration between(Duration least, Duration most);

 private:
  std::uint64_t state_;
};

// What is found broken; a test's failure.
struct Violation {
  std::string what;
};

// The simulated time, what is going to happen in it, and what has happened. Single-threaded.
class World final : public Clock {
 public:
  explicit World(std::uint64_t seed) : random(seed) {}

  TimePoint now() const override { return now_; }

  void in(Duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  void at(TimePoint when, std::function<void()> what);

  TimePoint next() const { return events_.empty() ? kNever : events_.top().when; }
  bool run_one_due();
  // Forgets what is going to happen, with the objects that it keeps.
  void drop_events() { events_ = {}; }
  void advance_to(TimePoint when) { now_ = when; }

  // The diary of a schedule, kept only where it will be read.
  template <typename... Parts>
  void say(const Parts&... parts) {
    if (tracing) write_down((std::string() + ... + parts));
  }

  Random random;
  bool tracing = false;
  std::vector<std::string> diary;

 private:
  struct Event {
    TimePoint when;
    std::uint64_t number;
    std::shared_ptr<std::function<void()>> what;
    bool operator<(const Event& other) const {
      return when != other.when ? when > other.when : number > other.number;
    }
  };

  void write_down(const std::string& line);

  TimePoint now_{std::chrono::hours(1)};
  std::uint64_t numbers_ = 0;
  std::priority_queue<Event> events_;
};

// Reports to a SteppedLoop whether a descriptor of the simulated network has come true.
class Readiness {
 public:
  virtual ~Readiness() = default;
  virtual bool ready(const net::Interest& interest) const = 0;
};

// The engine's loop without its thread: of the pollables that are ready it steps one at random.
class SteppedLoop final : public net::Loop {
 public:
  SteppedLoop(World& world, const Readiness& network) : world_(world), network_(network) {}

  void drive(std::shared_ptr<net::Pollable> pollable) override;
  void drive_at(std::shared_ptr<net::Pollable> pollable, TimePoint at) override;

  bool ready() const { return !able().empty(); }

  // False when none is ready.
  bool step_one();

  // When one is going to be, unless something happens before.
  TimePoint next() const;

  // When each of those that it drives is going to be, of those that wait for a moment.
  std::vector<TimePoint> moments() const;

  // Lets time pass, with all that happens in it.
  void run(Duration time);

  // Lets go of all that it drives.
  void stop() { driven_.clear(); }

 private:
  struct Driven {
    std::shared_ptr<net::Pollable> pollable;
    net::Interest interest{};
    bool asked = true;
  };

  std::vector<std::size_t> able() const;
  void step(const std::shared_ptr<net::Pollable>& pollable);

  World& world_;
  const Readiness& network_;
  std::vector<Driven> driven_;
  bool stepping_ = false;  // as a loop that is awake
};

}  // namespace holdfast::simulation
