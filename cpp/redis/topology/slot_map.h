#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace holdfast::topology {

// One of the parts into which a cluster divides all keys; each belongs to one primary.
using Slot = std::uint16_t;
constexpr std::size_t kSlots = 16384;

// The hash tag, which determines the slot: the text between the first '{' and the next '}', if not
// empty, else the whole key. A part of `key`.
std::string_view hash_tag(std::string_view key);

// CRC16 (XMODEM) of the key's hash tag, modulo 16384.
Slot slot_of(std::string_view key);

// The number that a client gives to a server; never used again. 0 is none.
using ServerNumber = std::uint32_t;

// Maps hash slots to servers. A slot that moves has no server at first: the requests sent to its
// old server are answered there, redirected by it, or handed over, and only then may others go to
// the new one, so that no request is overtaken: one that follows by MOVED could change its key
// after a later one. The reply to a *fence*, a separate request behind the others, marks that
// moment. Does no I/O.
class SlotMap {
 public:
  struct Fence {
    std::uint64_t id;
    ServerNumber at;
  };

  // The server for a new request; 0: none yet. Any thread, at any time.
  ServerNumber primary(Slot slot) const { return primaries_[slot].load(std::memory_order_acquire); }

  // The other methods: one thread at a time.

  // The current or future server of the slot; 0: not known.
  ServerNumber target(Slot slot) const;

  // The slot belongs to `to`. False if that is already known.
  bool assign(Slot slot, ServerNumber to);

  // The fences that have become necessary since the last call.
  std::vector<Fence> take_fences();

  // A fence has been passed. True when slots have a primary now that had none before.
  bool passed(std::uint64_t fence);

  // Whether slots are moving from there to another server.
  bool leaving(ServerNumber from) const;

  // All servers that have slots, or are about to get some.
  std::set<ServerNumber> servers() const;

 private:
  struct Move {
    ServerNumber from;
    ServerNumber to;
    ServerNumber next;  // the server after `to` if it moves again, else `to`
    std::uint64_t fence = 0;
  };

  std::array<std::atomic<ServerNumber>, kSlots> primaries_{};
  std::unordered_map<Slot, Move> moves_;
  std::uint64_t fences_ = 0;
};

}  // namespace holdfast::topology
