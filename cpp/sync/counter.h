#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sync/operation.h"
#include "sync/recipe.h"

namespace holdfast::sync {

// Counters have no owner, so a step that is sent again looks like a second one. Each step is a
// *request* with a number in a slot (RequestSlots), under whose id ("uuid:slot") the server keeps
// the number and the reply for a while: a repeat gets that reply and changes nothing, and neither
// does what comes after its successor in the slot.

// How long an answer is kept: longer than its request can go on being sent.
inline Millis request_memory(const Context& context) { return 4 * context.command_timeout; }

// A step on a counter.
struct CounterStep {
  std::string_view word;
  // Of a Step, `owner` is the slot's id, `lease` how long the answer is kept.
  void (*write)(script::Writer& out, const Step& step);
  bool completed = false;  // even if its caller no longer waits: it releases something
};

// A kind of counter: what its waiters wait for, and its steps, by their words.
struct CounterKind {
  std::string_view word;
  const Recipe& recipe;
  std::vector<CounterStep> steps;

  // Null: there is no such step.
  const CounterStep* find(std::string_view step) const;
};

// One request. Outcome::value: the step's answer.
OperationPtr counter_call(std::shared_ptr<const Context> context, const LockName& name,
                          const CounterStep& step, std::int64_t amount = 0);

// GET. Outcome::value: the counter, nothing where there is none.
OperationPtr counter_value(std::shared_ptr<const Context> context, const LockName& name);

}  // namespace holdfast::sync
