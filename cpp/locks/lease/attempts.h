#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "locks/base/types.h"
#include "locks/lease/hold.h"
#include "locks/lease/hold_book.h"
#include "redis/base/mutex.h"

namespace holdfast::lease {

class Attempts;

// One acquisition of an owner while it is under way: from begin() to its grant, or to end(), which
// its destructor calls. It belongs to one thread, or to a lock of its operation; the client's
// Attempts, and the name, outlive it.
//
// An owner has one at a time for a lock: Python's signal handlers run inside an acquire(), as the
// same owner. A second attempt would be sent as a first hold, too, and its release would free both.
// It cannot count as nested, as its hold count depends on the answer to the outer one; a handler
// that waited for that would never return. So it is refused. During a release nothing is refused:
// the entry is leaving before its command is sent.
class Attempt {
 public:
  enum class Kind : std::uint8_t {
    kWhole,   // of a lock: counted (LeaseKeeper::idle()), and the only one of its owner
    kPart,    // counted only: of a member of a lock of locks, and of what has no owner
    kAround,  // not counted: of a lock of locks, for one of its members
  };

  Attempt(Attempts& attempts, const LockName& name, OwnerNumber owner, Kind kind = Kind::kWhole)
      : attempts_(&attempts), name_(&name), owner_(owner), kind_(kind) {}
  Attempt(Attempt&& other) noexcept  // `other` is over
      : attempts_(other.attempts_),
        name_(other.name_),
        owner_(other.owner_),
        kind_(other.kind_),
        under_way_(std::exchange(other.under_way_, false)),
        entry_(std::exchange(other.entry_, nullptr)),
        records_(std::move(other.records_)) {}
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

  bool exclusive() const { return kind_ != Kind::kPart; }
  bool counted() const { return kind_ != Kind::kAround; }
  bool is_excluded(const Holds::Entry* entry) const;  // by another attempt of its owner's

  Attempts* const attempts_;
  const LockName* const name_;
  const OwnerNumber owner_;
  const Kind kind_;
  bool under_way_ = false;
  Holds::Entry* entry_ = nullptr;         // of an exclusive one, while it is under way
  std::vector<HeldRecords::Id> records_;  // of the holds that it may be granted
};

// What an attempt begins with.
struct AttemptPlan {
  enum class Verdict : std::uint8_t {
    kBegun,
    kUnderWay,  // another attempt of its owner's is: nothing was begun
    kClosed,    // the client is (being) closed: nothing was begun
    kLost,      // a grant would hide a loss: refuse() says which; nothing was begun
  };
  Verdict verdict = Verdict::kBegun;
  int count = 1;            // the number that the hold will have
  bool noted = false;       // the client's key still has the note of an earlier hold of the owner's
  bool takes_over = false;  // a release of its owner's, to be resumed if the attempt stays
                            // unanswered
};

// The acquisitions of one client that are under way, and their grants. A part of its LeaseKeeper.
// Thread-safe.
class Attempts {
 public:
  explicit Attempts(HoldBook& book) : book_(book) {}

  // The owner is about to request one more hold, or to repeat a request. Begins `attempt` unless
  // that has been done. A pending release of the owner's is taken over: it is not put in line
  // behind the command.
  AttemptPlan begin(Attempt& attempt) HOLDFAST_EXCLUDES(book_.mutex);
  // Whether the client has records of its holds: then record() follows begin(), with the longest
  // time that what the attempt may be granted lasts, and how many holds that is: each under an
  // owner number, which follow one another. Without an effect on a later end() if leave_record()
  // was called: what the attempt may have been granted stays recorded.
  bool recorded() const { return book_.recorded; }
  void record(Attempt& attempt, const Renewal& kind, Millis longest, std::int64_t amount = 1)
      HOLDFAST_EXCLUDES(book_.mutex);
  void leave_record(Attempt& attempt) HOLDFAST_EXCLUDES(book_.mutex);
  // The loss of the owner's that a grant would hide, and what to do; nothing: there is none, or an
  // acquire has been refused for it before and no block is open that lost its grant by it.
  std::optional<std::string> refuse(const LockName& name, OwnerNumber owner)
      HOLDFAST_EXCLUDES(book_.mutex);
  // The end of the block of a grant that its caller never gets.
  void forget_block(const LockName& name, OwnerNumber owner) HOLDFAST_EXCLUDES(book_.mutex);
  // The server has answered the attempt that took something over.
  void answered(const LockName& name, OwnerNumber owner) HOLDFAST_EXCLUDES(book_.mutex);
  // The end of its attempt. False, and nothing is recorded or ended, when the client is being
  // closed: the grant is to be given back.
  bool granted(const Grant& grant, Attempt& attempt) HOLDFAST_EXCLUDES(book_.mutex);

  // The client's key, as a hold of the client: never acquired, lost, counted or reported. Its
  // renewals make it, the first one at once. `about`: what it says; `all`: it also gets a note of
  // each hold that lasts (NoteBook).
  void introduce(Grant grant, const std::string& about, bool all = false)
      HOLDFAST_EXCLUDES(book_.mutex);

  // The owner is acquiring it.
  bool under_way(const LockName& name, OwnerNumber owner) const HOLDFAST_EXCLUDES(book_.mutex);
  bool any() const HOLDFAST_EXCLUDES(book_.mutex);  // that is counted

 private:
  friend class Attempt;

  // For Attempt.
  bool enter_alone(Attempt& attempt) HOLDFAST_EXCLUDES(book_.mutex);
  void enter_beside(Attempt& attempt) HOLDFAST_EXCLUDES(book_.mutex);
  void end(Attempt& attempt) HOLDFAST_EXCLUDES(book_.mutex);

  Holds::Entry* entry_of(const Attempt& attempt) HOLDFAST_REQUIRES(book_.mutex);
  // Whether a grant would hide a loss; `hold`: the owner's current one, or null.
  bool would_hide(const LockName& name, OwnerNumber owner, const Hold* hold)
      HOLDFAST_REQUIRES(book_.mutex);
  // The loss of the owner's that an acquire would hide, with what to do; nothing: none.
  std::optional<std::string> hidden_loss(const LockName& name, OwnerNumber owner)
      HOLDFAST_REQUIRES(book_.mutex);
  Hold* hidden(const LockName& name, OwnerNumber owner) HOLDFAST_REQUIRES(book_.mutex);
  void enter(Attempt& attempt, Holds::Entry* entry) HOLDFAST_REQUIRES(book_.mutex);
  void leave(Attempt& attempt) HOLDFAST_REQUIRES(book_.mutex);

  HoldBook& book_;
};

inline void Attempt::end() {
  if (under_way_) attempts_->end(*this);
}

}  // namespace holdfast::lease
