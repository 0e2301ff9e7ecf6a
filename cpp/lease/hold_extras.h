#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "lease/look_budget.h"
#include "lease/shortened_lease.h"

namespace holdfast::lease {

// What only few holds have: made when the first of it is set. Guarded as the hold.
struct HoldExtras {
  // A step that was to give it another field, and may do so yet.
  struct Move {
    const std::string other;
    Millis lease{0};     // the one that the newest of them sets
    Millis shortest{0};  // of those that any of them sets
    Millis minimum{0};   // that the lock was to stay closed when the newest one began
  };

  std::vector<std::uint64_t> listeners;  // to its loss, each once
  std::string reason;                    // of the loss
  std::unique_ptr<Move> move;            // once one was begun: the hold may be under its field
  TimePoint closed_until{};              // the lock, whenever it is released
  // The end of the part of its lease that other programs leave, while it is renewed.
  TimePoint relied_until = kNever;
  // Of a hold without renewal: the end of what another client has left of its lease, as the latest
  // look has found it; kNever: all of it. Another client may lengthen it again.
  TimePoint cut_until = kNever;
  // Of a renewal that was written to a connection that has failed: what stands between may pass it
  // on to the server until then.
  TimePoint renewal_comes_until{};
  ShortenedLease shortened;
  LookBudget looks;                         // that changes have caused
  std::vector<std::uint64_t> tracked_keys;  // by TrackedHolds, beside its name: their hashes

  void forget(std::uint64_t listener) {
    listeners.erase(std::remove(listeners.begin(), listeners.end(), listener), listeners.end());
  }
};

}  // namespace holdfast::lease
