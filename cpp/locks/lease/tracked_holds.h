#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "locks/base/hash_index.h"
#include "redis/client.h"

namespace holdfast::lease {

class Hold;

// The holds of one client of whose keys the server will say when they change. It knows the keys by
// their hashes only: where two are the same, a hold is looked at for nothing. Not thread-safe: see
// Keeper.
class TrackedHolds {
 public:
  // The server has been asked about the keys of the hold, which is not here.
  void add(Hold& hold, const std::vector<std::string>& keys);
  // No effect on one that is not here.
  void remove(Hold& hold);
  // Takes out those of which a key may have changed: the server says so once.
  std::vector<Hold*> take(const client::KeyChanges& changes);
  void clear();

  std::size_t size() const { return holds_; }

 private:
  void erase(std::uint64_t key, const Hold& hold);

  HashIndex<Hold*> by_key_;
  std::size_t holds_ = 0;
};

}  // namespace holdfast::lease
