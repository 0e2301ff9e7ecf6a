#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "redis/base/clock.h"

namespace holdfast::lease {

// When the holds of a client are renewed: a third of the lease after the last time, or earlier, so
// that those which are to share commands, a group, are due together, and the groups apart.
//
// A third of a lease is divided into moments, at each of which about fifty holds are due (more
// where the moments would be closer than a millisecond). A group has one of them, in each third of
// a lease; so holds of a group are together from the second renewal on, whenever they were
// acquired, and what was renewed at once, as after a failure, is apart again the next time. Clients
// have different moments.
class RenewalGrid {
 public:
  explicit RenewalGrid(std::string_view client_id);

  // The first renewal, after a grant for `lease` that was requested at `sent`: at most a sixteenth
  // of a third earlier, so that a shorter hold costs nothing. `holds`: how many the client has.
  TimePoint first(TimePoint sent, Millis lease, std::size_t holds) const;
  // The next one, after a renewal that was sent then: up to a third earlier the first time.
  TimePoint next(TimePoint sent, Millis lease, std::uint32_t group, std::size_t holds) const;

 private:
  // The last moment of those that recur each `period`, from `offset` on, that is not after `at`.
  TimePoint last_before(TimePoint at, Duration period, Duration offset, Duration third) const;

  const std::uint32_t seed_;
};

}  // namespace holdfast::lease
