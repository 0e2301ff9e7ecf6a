#pragma once

#include <array>
#include <cstddef>

#include "lease/attempt.h"

namespace holdfast::lease {

// The attempts of a client that exclude others of the same owner, while they are under way: a few
// lists, by owner. Not thread-safe: see HoldBook.
class AttemptLists {
 public:
  bool any(const LockName& name, OwnerNumber owner) const {
    const Attempt* each = lists_[list_of(owner)];
    while (each != nullptr && !is(*each, name, owner)) each = each->next_;
    return each != nullptr;
  }
  void add(Attempt& attempt) {
    Attempt*& first = lists_[list_of(attempt.owner_)];
    attempt.next_ = first;
    attempt.link_ = &first;
    if (first != nullptr) first->link_ = &attempt.next_;
    first = &attempt;
  }
  static void remove(Attempt& attempt) {
    *attempt.link_ = attempt.next_;
    if (attempt.next_ != nullptr) attempt.next_->link_ = attempt.link_;
  }

 private:
  static constexpr std::size_t kLists = 256;

  static std::size_t list_of(OwnerNumber owner) { return static_cast<std::size_t>(owner) % kLists; }
  static bool is(const Attempt& each, const LockName& name, OwnerNumber owner) {
    return each.owner_ == owner && *each.name_ == name;
  }

  std::array<Attempt*, kLists> lists_{};
};

}  // namespace holdfast::lease
