#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/types.h"
#include "lease/tracked_holds.h"

namespace holdfast::lease {

class Hold;

// The holds of one client by name, side and owner, and the latest losses that their owners may
// still ask for. A client that always uses new names, and lets the leases run out, would keep all
// losses: it keeps the latest ten thousand. Not thread-safe: see HoldBook.
class HoldTable {
 public:
  using HoldPtr = std::shared_ptr<Hold>;
  struct Key {
    Key(const LockName& of, OwnerNumber by) : name(of.bytes()), side(of.side()), owner(by) {}
    std::string_view name;
    Side side;
    OwnerNumber owner;
    bool operator==(const Key& other) const {
      return owner == other.owner && side == other.side && name == other.name;
    }
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  using Holds = std::unordered_map<Key, HoldPtr, KeyHash>;

  // Null: there is none.
  Hold* find(const LockName& name, OwnerNumber owner) const;
  bool has(OwnerNumber owner) const { return counts_.count(owner) > 0; }
  bool empty() const { return holds_.empty(); }
  const Holds& all() const { return holds_; }
  std::vector<HoldPtr> of(OwnerNumber owner) const;

  // A hold with the serial number that it gets.
  Hold& add(const HoldPtr& hold);
  // A hold that was taken out, and turned out to be lost.
  void put_back(const HoldPtr& hold);
  // Its owner holds it no longer. An erased hold has no serial number.
  HoldPtr take(Hold& hold);
  void erase(Hold& hold);
  void clear();

  // It is lost. It stays, unless later losses take its place.
  void add_loss(const HoldPtr& hold) {
    tracked.remove(*hold);
    losses_.push_back(hold);
  }

  // The server says when these change; only what is in the table is among them.
  TrackedHolds tracked;
  // How many there have been.
  std::uint64_t grants() const { return serials_; }

 private:
  void forget_old_losses();
  void insert(const HoldPtr& hold);

  Holds holds_;
  std::unordered_map<OwnerNumber, std::size_t> counts_;  // of holds, by owner
  std::deque<std::weak_ptr<Hold>> losses_;               // the oldest first
  std::uint64_t serials_ = 0;
};

}  // namespace holdfast::lease
