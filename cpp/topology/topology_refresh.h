#pragma once

#include <cstddef>
#include <optional>

#include "base/clock.h"

namespace holdfast::topology {

// When to ask the servers of a cluster who answers for what, and which of them. News are wanted
// when something went wrong, never by the clock. In a round one after another is asked, the next
// one when the last has failed or has been silent for a moment; the first answer ends it. Rounds
// that fail, or tell nothing new, come ever more seldom. A machine without I/O.
class TopologyRefresh {
 public:
  // Whether to begin() a round.
  bool due(TimePoint now) const { return !asking_ && wanted_ && now >= rest_until_; }

  void want() { wanted_ = true; }

  // Nobody needs news any more.
  void stop() { wanted_ = false; }

  // A round over so many candidates.
  void begin(std::size_t candidates);

  // Whom to ask now (0, 1, ... of the candidates), if anybody; to be called until nothing comes.
  std::optional<std::size_t> next(TimePoint now);

  // One of those that were asked in this round cannot say.
  void failed(TimePoint now);

  // One has told; `news`: what was not known.
  void answered(bool news, TimePoint now);

  bool asking() const { return asking_; }
  int failed_rounds() const { return failed_rounds_; }
  TimePoint until() const;  // when next() or due() may say something else

 private:
  void rest(bool longer, TimePoint now);

  bool wanted_ = false;
  bool asking_ = false;
  std::size_t candidates_ = 0;
  std::size_t asked_ = 0;
  std::size_t failures_ = 0;
  TimePoint next_at_{};
  TimePoint rest_until_{};
  Duration rest_{};
  int failed_rounds_ = 0;
};

}  // namespace holdfast::topology
