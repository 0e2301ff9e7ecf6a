#pragma once

#include <pybind11/pybind11.h>

#include "bindings/errors.h"
#include "sync/operation.h"

namespace holdfast::bindings {

// Sets who observes the acquisitions and releases of locks: a Python object with the methods of
// holdfast._core.Observer, or None, and then an exchange costs a comparison more.
void set_observer(const pybind11::object& observer);

// The observation of one exchange: its beginning, before anything is asked for, and its end, before
// its caller knows of it. With the GIL held.
class Observation {
 public:
  Observation() = default;  // of nothing
  // Tells of the beginning. An Exception that the observer raises is reported, and the exchange is
  // not observed; what else it raises comes out, before anything has begun.
  Observation(OperationKind kind, sync::Exchange& exchange) {
    if (observed_) begin(kind, exchange);
  }

  // Whether there is an observer.
  static bool wanted() { return observed_; }

  // Tells of the end. An Exception that the observer raises is reported and goes no further; what
  // else it raises (KeyboardInterrupt) comes out, and the caller of this gives back what was
  // granted.
  void ended(sync::Exchange& exchange, const sync::Outcome& outcome) {
    if (observer_) end(exchange, outcome);
  }
  // The same of an exchange that its caller gave up.
  void cancelled(sync::Exchange& exchange) { ended(exchange, {sync::Verdict::kCancelled}); }

 private:
  friend void set_observer(const pybind11::object& observer);

  void begin(OperationKind kind, sync::Exchange& exchange);
  void end(sync::Exchange& exchange, const sync::Outcome& outcome);

  static inline bool observed_ = false;

  OperationKind kind_ = OperationKind::kCall;
  pybind11::object observer_;  // null: this one is not observed
  pybind11::object begun_;     // what the observer made of the beginning of an acquisition
};

}  // namespace holdfast::bindings
