#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "topology/slot.h"

namespace holdfast::topology {

// The number that a client gives to a server; never used again. 0 is none.
using ServerNumber = std::uint32_t;

// Maps hash slots to servers. A slot that moves has no server at first: requests sent to its old
// server are answered there, redirected by it, or handed over, and only then may others go to the
// new one, so that none is overtaken. A *fence*, a separate request behind the others, shows when
// that is. Does no I/O.
class SlotMap {
 public:
  struct Fence {
    std::uint64_t id;
    ServerNumber at;
  };

  // Where a new request for the slot may go; 0: nowhere yet. Any thread, at any time.
  ServerNumber owner(Slot slot) const { return owners_[slot].load(std::memory_order_acquire); }

  // The rest one thread at a time.

  // Where the slot is, or is about to be; 0: not known.
  ServerNumber target(Slot slot) const;

  // The slot is `to`'s. False when that is no news.
  bool assign(Slot slot, ServerNumber to);

  // The fences that have become necessary since the last call.
  std::vector<Fence> take_fences();

  // A fence has been passed. True when slots have an owner now that had none before.
  bool passed(std::uint64_t fence);

  // Slots are on their way from there to another server.
  bool leaving(ServerNumber from) const;

  // All that have slots, or are about to.
  std::set<ServerNumber> servers() const;

 private:
  struct Move {
    ServerNumber from;
    ServerNumber to;
    ServerNumber next;  // where it has gone on from `to` meanwhile, or `to`
    std::uint64_t fence = 0;
  };

  std::array<std::atomic<ServerNumber>, kSlots> owners_{};
  std::unordered_map<Slot, Move> moves_;
  std::uint64_t fences_ = 0;
};

}  // namespace holdfast::topology
