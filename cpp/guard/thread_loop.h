#pragma once

#include <map>
#include <memory>
#include <vector>

#include "net/pollable.h"

namespace holdfast::guard {

// Drives Pollables on the thread that calls step(): the guard has no other. Not thread-safe.
class ThreadLoop final : public net::Loop {
 public:
  explicit ThreadLoop(const Clock& clock) : clock_(clock) {}

  void drive(std::shared_ptr<net::Pollable> pollable) override;

  // Waits for the next event, until `until` at most, and steps what it concerns.
  void step(TimePoint until);

 private:
  struct Driven {
    std::shared_ptr<net::Pollable> pollable;
    net::Interest interest{};
    bool due = true;
  };

  void await(TimePoint until);

  const Clock& clock_;
  std::map<net::Pollable*, Driven> all_;
};

}  // namespace holdfast::guard
