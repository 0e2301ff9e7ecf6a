#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/types.h"

namespace holdfast::lease {

class LeaseKeeper;

// One acquisition of an owner while it is under way: from begin() to its grant, or to end(), which
// its destructor calls. It belongs to one thread, or to a lock of its operation; the keeper, and
// the name, outlive it. To begin and to end one allocates nothing.
class Attempt {
 public:
  enum class Kind : std::uint8_t {
    kWhole,   // of a lock: counted (LeaseKeeper::idle()), and the only one of its owner
    kPart,    // counted only: of a member of a lock of locks, and of what has no owner
    kAround,  // not counted: of a lock of locks, for one of its members
  };

  Attempt(LeaseKeeper& keeper, const LockName& name, OwnerNumber owner, Kind kind = Kind::kWhole)
      : keeper_(&keeper), name_(&name), owner_(owner), kind_(kind) {}
  Attempt(Attempt&& other) noexcept;  // `other` is over
  Attempt& operator=(Attempt&& other) = delete;
  ~Attempt() { end(); }

  // False, and nothing is begun: another attempt of the owner's at this lock is under way.
  bool begin();
  // Beside another attempt of the owner's, which may have ended: refuses the owner's calls for the
  // lock until this one ends.
  void begin_beside();
  bool under_way() const { return under_way_; }
  // Without a grant. No effect when it is not under way.
  void end();

 private:
  friend class Attempts;
  friend class LeaseKeeper;

  bool alone() const { return kind_ != Kind::kPart; }
  bool counted() const { return kind_ != Kind::kAround; }

  LeaseKeeper* const keeper_;
  const LockName* const name_;
  const OwnerNumber owner_;
  const Kind kind_;
  bool under_way_ = false;
  // In its list of Attempts.
  Attempt* next_ = nullptr;
  Attempt** link_ = nullptr;
};

// The attempts of a client that exclude others of the same owner, while they are under way: a few
// lists, by owner. Not thread-safe: the LeaseKeeper's lock guards it.
class Attempts {
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
