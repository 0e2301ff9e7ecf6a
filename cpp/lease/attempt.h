#pragma once

#include <cstdint>
#include <vector>

#include "base/types.h"
#include "lease/held_records.h"

namespace holdfast::lease {

class Attempts;

// One acquisition of an owner while it is under way: from begin() to its grant, or to end(), which
// its destructor calls. It belongs to one thread, or to a lock of its operation; the client's
// Attempts, and the name, outlive it. To begin and to end one allocates nothing.
class Attempt {
 public:
  enum class Kind : std::uint8_t {
    kWhole,   // of a lock: counted (LeaseKeeper::idle()), and the only one of its owner
    kPart,    // counted only: of a member of a lock of locks, and of what has no owner
    kAround,  // not counted: of a lock of locks, for one of its members
  };

  Attempt(Attempts& attempts, const LockName& name, OwnerNumber owner, Kind kind = Kind::kWhole)
      : attempts_(&attempts), name_(&name), owner_(owner), kind_(kind) {}
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
  friend class AttemptLists;

  bool exclusive() const { return kind_ != Kind::kPart; }
  bool counted() const { return kind_ != Kind::kAround; }

  Attempts* const attempts_;
  const LockName* const name_;
  const OwnerNumber owner_;
  const Kind kind_;
  bool under_way_ = false;
  HeldRecords::Id record_ = 0;                 // of what it may be granted
  std::vector<HeldRecords::Id> more_records_;  // of the further owners of a grant of several
  // In its list of AttemptLists.
  Attempt* next_ = nullptr;
  Attempt** link_ = nullptr;
};

}  // namespace holdfast::lease
