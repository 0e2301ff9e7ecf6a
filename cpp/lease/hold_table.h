#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/hash_index.h"
#include "base/types.h"
#include "lease/hold_ptr.h"
#include "lease/tracked_holds.h"

namespace holdfast::lease {

// The holds of one client by name, side and owner, and the latest losses that their owners may
// still ask for. A client that always uses new names, and lets the leases run out, would keep all
// losses: it keeps the latest ten thousand. Not thread-safe: see HoldBook.
class HoldTable {
 public:
  HoldTable() = default;
  HoldTable(const HoldTable&) = delete;
  HoldTable& operator=(const HoldTable&) = delete;
  ~HoldTable() { clear(); }

  // Null: there is none.
  Hold* find(const LockName& name, OwnerNumber owner) const;
  bool has(OwnerNumber owner) const;
  bool empty() const { return holds_.empty(); }
  std::size_t size() const { return holds_.size(); }
  std::vector<HoldPtr> of(OwnerNumber owner) const;
  const HashIndex<Hold*>& all() const { return holds_; }

  // A hold with the serial number that it gets.
  Hold& add(const HoldPtr& hold);
  // A hold that was taken out, and turned out to be lost.
  void put_back(const HoldPtr& hold);
  // Its owner holds it no longer. An erased hold has no serial number.
  HoldPtr take(Hold& hold);
  void erase(Hold& hold);
  void clear();

  // It is lost. It stays, unless later losses take its place.
  void add_loss(Hold& hold) {
    tracked.remove(hold);
    losses_.emplace_back(&hold);
  }

  // The server says when these change; only what is in the table is among them.
  TrackedHolds tracked;
  // How many there have been.
  std::uint64_t grants() const { return serials_; }

 private:
  void forget_old_losses();
  void insert(Hold& hold);

  HashIndex<Hold*> holds_;         // with a reference to each
  HashIndex<std::size_t> counts_;  // of holds, by their owner's number
  std::deque<HoldPtr> losses_;     // the oldest first
  std::uint64_t serials_ = 0;
};

}  // namespace holdfast::lease
