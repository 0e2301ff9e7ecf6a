#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "client/tracking.h"

namespace holdfast::lease {

class Hold;

// The holds of one client of whose keys the server will say when they change, by those keys. Not
// thread-safe: see HoldBook.
class TrackedHolds {
 public:
  using ByKey = std::multimap<std::string, Hold*, std::less<>>;
  using Places = std::vector<ByKey::iterator>;  // of one hold; empty: it is not here

  // The server has been asked about the keys of the hold, which is not here.
  void add(Hold& hold, const std::vector<std::string>& keys);
  // No effect on one that is not here.
  void remove(Hold& hold);
  // Takes out those of which a key may have changed: the server says so once.
  std::vector<Hold*> take(const client::Changes& changes);
  void clear();

  std::size_t size() const { return holds_; }

 private:
  ByKey by_key_;
  std::size_t holds_ = 0;
};

}  // namespace holdfast::lease
