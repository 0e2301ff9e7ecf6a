#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "locks/lease/keeper.h"

namespace holdfast::lease {

// How an attempt begins, as the state of its owner's entry allows.
struct AttemptPlan {
  enum class Kind : std::uint8_t {
    kBegun,
    kUnderWay,  // another attempt of its owner's is: nothing was begun
    kClosed,    // the client is (being) closed: nothing was begun
    kLost,      // a grant would hide a loss: refuse() says which; nothing was begun
  };
  Kind kind = Kind::kBegun;
  int count = 1;            // the number that the hold will have
  bool noted = false;       // the client's key still has the note of an earlier hold of the owner's
  bool takes_over = false;  // a release of its owner's, to be resumed if the attempt stays
                            // unanswered
};

// One acquisition of an owner while it is under way: from begin() to its grant, or to end(), which
// its destructor calls. It belongs to one thread, or to a lock of its operation; the client's
// Keeper, and the name, outlive it.
//
// An owner has one at a time for a lock: Python's signal handlers run inside an acquire(), as the
// same owner. A second attempt would be sent as a first hold, too, and its release would free both.
// It cannot count as nested, as its hold count depends on the answer to the outer one; a handler
// that waited for that would never return. So it is refused. During a release nothing is refused:
// the entry is leaving before its command is sent.
class Attempt {
 public:
  enum class Kind : std::uint8_t {
    kWhole,   // a lock: counted (Keeper::is_idle()), and the only one of its owner
    kPart,    // counted only: of a member of a lock of locks, and of what has no owner
    kAround,  // not counted: of a lock of locks, for one of its members
  };

  Attempt(Keeper& keeper, const LockName& name, OwnerNumber owner, Kind kind = Kind::kWhole)
      : keeper_(keeper), name_(&name), owner_(owner), kind_(kind) {}
  Attempt(Attempt&& other) noexcept  // `other` is over
      : keeper_(other.keeper_),
        name_(other.name_),
        owner_(other.owner_),
        kind_(other.kind_),
        under_way_(std::exchange(other.under_way_, false)),
        entry_(std::exchange(other.entry_, nullptr)),
        records_(std::move(other.records_)) {}
  Attempt& operator=(Attempt&& other) = delete;
  ~Attempt() { end(); }

  // The owner is about to request one more hold, or to repeat a request. A pending release of the
  // owner's is taken over: it is not put in line behind the command.
  AttemptPlan begin() HOLDFAST_EXCLUDES(keeper_.mutex);
  // Without a request. False, and nothing is begun: another attempt of the owner's at this lock is
  // under way. `beside`: it may be, or have ended: this one refuses the owner's calls for the lock
  // until it ends.
  bool enter(bool beside = false) HOLDFAST_EXCLUDES(keeper_.mutex);
  bool under_way() const { return under_way_; }

  // Where the client has records of its holds (Keeper::recorded), this follows begin(), with the
  // longest time that what the attempt may be granted lasts, and how many holds that is: each under
  // an owner number, which follow one another. Without an effect on a later end() if leave_record()
  // was called: what the attempt may have been granted stays recorded.
  void record(const Renewal& kind, Millis longest, std::int64_t amount = 1)
      HOLDFAST_EXCLUDES(keeper_.mutex);
  void leave_record() HOLDFAST_EXCLUDES(keeper_.mutex);

  // The server has answered it, which took a release over.
  void answered() HOLDFAST_EXCLUDES(keeper_.mutex);
  // The end of the attempt. False, and nothing is recorded or ended, when the client is being
  // closed: the grant is to be given back.
  bool granted(const Grant& grant) HOLDFAST_EXCLUDES(keeper_.mutex);
  // Without a grant. No effect when it is not under way.
  void end() {
    if (under_way_) leave_ungranted();
  }

  // The loss of the owner's that a grant would hide, and what to do; nothing: there is none, or an
  // acquire has been refused for it before and no block is open that lost its grant by it.
  std::optional<std::string> refuse() HOLDFAST_EXCLUDES(keeper_.mutex);
  // The end of the block of a grant that its caller never gets.
  void forget_block() HOLDFAST_EXCLUDES(keeper_.mutex);

 private:
  bool exclusive() const { return kind_ != Kind::kPart; }
  bool counted() const { return kind_ != Kind::kAround; }
  bool is_excluded(const Holds::Entry* entry) const {  // by another attempt of its owner's
    return !under_way_ && exclusive() && entry->attempts > 0;
  }
  // A kind that excludes no other has no entry before its grant.
  Holds::Entry* place() HOLDFAST_REQUIRES(keeper_.mutex) {
    if (entry_ != nullptr) return entry_;
    return exclusive() ? &keeper_.holds.at(*name_, owner_) : keeper_.holds.find(*name_, owner_);
  }
  void enter(Holds::Entry* entry) HOLDFAST_REQUIRES(keeper_.mutex);
  void leave() HOLDFAST_REQUIRES(keeper_.mutex);
  void leave_ungranted() HOLDFAST_EXCLUDES(keeper_.mutex);
  // A lost hold of the owner's, on any side of the name, whose loss a grant would hide.
  Hold* hidden() HOLDFAST_REQUIRES(keeper_.mutex);
  std::optional<std::string> hidden_loss() HOLDFAST_REQUIRES(keeper_.mutex);

  Keeper& keeper_;
  const LockName* const name_;
  const OwnerNumber owner_;
  const Kind kind_;
  bool under_way_ = false;
  Holds::Entry* entry_ = nullptr;         // set while an exclusive one is under way
  std::vector<HeldRecords::Id> records_;  // records of the holds that it may be granted
};

}  // namespace holdfast::lease
