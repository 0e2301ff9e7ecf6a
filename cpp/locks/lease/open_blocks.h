#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "locks/base/types.h"

namespace holdfast::lease {

// The open `with` blocks of one client's owners without the grant that they began with: it was
// lost, or was released inside the block. The blocks of a hold are counted by the hold
// (Hold::blocks). Of nested blocks the newest one ends first: those that were released are newer
// than each loss. Not thread-safe: see Keeper. The rules for users, and why: docs/losses.md.
class OpenBlocks {
 public:
  // A loss that open blocks have not raised yet.
  struct Loss {
    std::string reason;
    bool refuses = true;  // until they have ended, their owner acquires nothing of the name
    int blocks = 0;
  };

  bool empty() const { return owners_.empty(); }

  // A hold is lost: the grant of these blocks, and of those whose hold was released before.
  void lose(const LockName& name, OwnerNumber owner, Loss loss);
  // Their hold was released inside them. What its owner takes again is theirs.
  void release(const LockName& name, OwnerNumber owner, int blocks);

  // One block ends, if one is there. The reason, if it had lost its grant.
  std::optional<std::string> end(const LockName& name, OwnerNumber owner);

  // More is known of why a hold of the name was lost.
  void explain(const LockName& name, OwnerNumber owner, const std::string& reason);

  // The loss, on any side of the name, for which the owner acquires nothing. Null: none.
  const Loss* refusing(const LockName& name, OwnerNumber owner) const;
  bool lost(const LockName& name, OwnerNumber owner) const;

  void owner_ended(OwnerNumber owner) { owners_.erase(owner); }

 private:
  struct OfName {
    LockName name;
    int released = 0;
    std::vector<Loss> losses{};  // the oldest first
  };
  using OfOwner = std::vector<OfName>;

  const OfName* find(const LockName& name, OwnerNumber owner) const;
  OfName* find(const LockName& name, OwnerNumber owner);
  OfName& at(const LockName& name, OwnerNumber owner);

  std::unordered_map<OwnerNumber, OfOwner> owners_;
};

}  // namespace holdfast::lease
