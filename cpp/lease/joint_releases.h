#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "lease/hold_book.h"

namespace holdfast::lease {

// The holds of one client that one command releases, all or none: permits that are given back
// together. They stay in the table until the server has answered, as it may release none of them. A
// part of its LeaseKeeper. Thread-safe.
class JointReleases {
 public:
  explicit JointReleases(HoldBook& book) : book_(book) {}

  using Owners = std::vector<OwnerNumber>;
  struct Lost {
    OwnerNumber owner;
    std::string reason;
  };
  // The command is about to be sent: until end(), those of the owners that hold the name are not
  // renewed, and a renewal that finds one gone says nothing about it. Nothing is begun when one is
  // lost, which this reports once.
  std::optional<Lost> begin(const LockName& name, const Owners& owners)
      HOLDFAST_EXCLUDES(book_.mutex);
  // The server has answered. Released, they end without a loss; else they are held as before. No
  // effect on holds that another release, or leave_to_lease(), has ended since.
  void end(const LockName& name, const Owners& owners, bool released)
      HOLDFAST_EXCLUDES(book_.mutex);

 private:
  HoldBook& book_;
};

}  // namespace holdfast::lease
