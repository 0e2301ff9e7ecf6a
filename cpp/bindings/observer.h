#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include "bindings/critical_section.h"
#include "bindings/errors.h"
#include "locks/locks.h"

namespace holdfast::bindings {

// Sets the observer of the acquisitions and releases of locks: a Python object with the methods of
// holdfast._core.Observer, or None; without one an exchange costs one more comparison.
void set_observer(const pybind11::object& observer);

// The observation of one exchange: its beginning, before a command is sent, and its end, before the
// call returns. With the GIL held.
class Observation {
 public:
  Observation() = default;  // observes nothing
  // Reports the beginning. If the observer raises an Exception, that is reported, and the exchange
  // is not observed; other exceptions are thrown, before the exchange has begun.
  explicit Observation(sync::Exchange& exchange) {
    if (observed_) begin(exchange);
  }

  // Whether there is an observer.
  static bool wanted() { return observed_; }

  // Reports the end. If the observer raises an Exception, that is reported and dropped; others
  // (KeyboardInterrupt) are thrown, and the caller gives the grant back.
  void ended(sync::Exchange& exchange, const sync::Outcome& outcome) {
    if (observer_) end(exchange, outcome);
  }
  // Reports the end of an exchange that its caller cancelled.
  void cancelled(sync::Exchange& exchange) { ended(exchange, {sync::Verdict::kCancelled}); }

  // For the garbage collector, by the object whose part it is.
  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(observer_.ptr());
    Py_VISIT(begun_.ptr());
    return 0;
  }
  void clear() { const Observation ends = std::exchange(*this, {}); }

 private:
  friend void set_observer(const pybind11::object& observer);

  void begin(sync::Exchange& exchange);
  void end(sync::Exchange& exchange, const sync::Outcome& outcome);

  static inline Shared<bool> observed_{false};

  pybind11::object observer_;  // null: this one is not observed
  pybind11::object begun_;     // the observer's result for the beginning of an acquisition
};

}  // namespace holdfast::bindings
