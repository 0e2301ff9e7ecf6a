#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sync/recipes/recipe.h"

namespace holdfast::sync {

// A step on a counter.
struct CounterStep {
  std::string_view word;
  Row row;                 // of a Step whose owner is the request's slot
  bool completed = false;  // even if its caller no longer waits: it releases something

  // What happens to the permits of the client, for its figures.
  enum class Permits : std::uint8_t {
    kNone,
    kGiven,         // as many as it was called with
    kGivenIfThere,  // the same, if the answer is 1
    kTaken,         // as many as the answer says
  };
  Permits permits = Permits::kNone;
};

// A kind of counter: its recipe for waiters, and its steps, by their words.
struct CounterKind {
  std::string_view word;
  const Recipe& recipe;
  std::vector<CounterStep> steps;

  // Null: there is no such step.
  const CounterStep* find(std::string_view step) const {
    for (const CounterStep& each : steps) {
      if (each.word == step) return &each;
    }
    return nullptr;
  }
};

}  // namespace holdfast::sync
