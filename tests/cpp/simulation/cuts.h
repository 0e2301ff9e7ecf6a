#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/kind.h"

namespace holdfast::simulation {

// The leases of one lock's owners that watchdogs of Redisson have made shorter, and which of these
// cuts the owner's client cannot be prepared for: by the answer to a renewal it knows what was left
// of a lease that was cut, and for as long as its lease it renews three times as often as that.
class Cuts {
 public:
  // A script of `owner` has run at `now`: who held the lock before it, and who does afterwards.
  struct Step {
    std::string_view script;
    std::vector<std::string> owned;  // the owner's fields
    std::int64_t lease = 0;          // of a renewal
    std::int64_t now = 0;            // in the server's milliseconds
  };
  void follow(const Step& step, const Holders& before, const Holders& after);

  // The hold has been cut, to less than its client could be prepared for.
  bool unforeseen(const std::string& field) const;
  // When it ended by that.
  std::int64_t end(const std::string& field) const { return cuts_.at(field).end; }

 private:
  struct Cut {
    std::int64_t lease;  // what the watchdog has left of it
    std::int64_t end;
  };
  // What a client knows: the shortest that was left, and how long that counts.
  struct Known {
    std::int64_t left = INT64_MAX;
    std::int64_t until = 0;
    bool counts = false;  // since its last renewal
  };
  void foreign_step(const std::string& field, const Step& step, std::int64_t before,
                    std::int64_t after);
  void renewed(const std::string& field, const Step& step, std::int64_t left);

  std::map<std::string, Cut> cuts_;
  std::map<std::string, Known> known_;
};

}  // namespace holdfast::simulation
