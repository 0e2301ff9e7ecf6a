#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "lease/attempt.h"
#include "lease/hold.h"
#include "lease/hold_book.h"

namespace holdfast::lease {

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
  bool takes_over = false;  // a release of its owner's, to be resumed if the attempt stays
                            // unanswered
};

// The acquisitions of one client that are under way, and their grants. A part of its LeaseKeeper.
// Thread-safe.
class Attempts {
 public:
  explicit Attempts(HoldBook& book) : book_(book) {}

  // The owner is about to request one more hold, or to repeat a request. Begins `attempt` unless
  // that has been done. What the ledger has of the owner is taken over: none of it is put in line
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

  // The owner is acquiring it.
  bool under_way(const LockName& name, OwnerNumber owner) const HOLDFAST_EXCLUDES(book_.mutex);
  bool any() const HOLDFAST_EXCLUDES(book_.mutex);  // that is counted

 private:
  friend class Attempt;

  // For Attempt.
  bool enter_alone(Attempt& attempt) HOLDFAST_EXCLUDES(book_.mutex);
  void enter_beside(Attempt& attempt) HOLDFAST_EXCLUDES(book_.mutex);
  void end(Attempt& attempt) HOLDFAST_EXCLUDES(book_.mutex);
  void move(Attempt& from, Attempt& to) HOLDFAST_EXCLUDES(book_.mutex);

  bool admits(const Attempt& attempt) const HOLDFAST_REQUIRES(book_.mutex);
  AttemptPlan::Verdict judge(const Attempt& attempt, const Hold* hold) const
      HOLDFAST_REQUIRES(book_.mutex);
  bool may_hide(const LockName& name, const Hold* hold) const HOLDFAST_REQUIRES(book_.mutex);
  void enter(Attempt& attempt) HOLDFAST_REQUIRES(book_.mutex);
  void leave(Attempt& attempt) HOLDFAST_REQUIRES(book_.mutex);
  // One hold that an attempt may be granted.
  struct MayHold {
    OwnerNumber owner;
    const Renewal& kind;
    TimePoint until;
  };
  void record(const Attempt& attempt, HeldRecords::Id& record, const MayHold& hold)
      HOLDFAST_REQUIRES(book_.mutex);
  void add(const Grant& grant, HeldRecords::Id record) HOLDFAST_REQUIRES(book_.mutex);
  Hold& hold_for(const Grant& grant) HOLDFAST_REQUIRES(book_.mutex);

  HoldBook& book_;
};

}  // namespace holdfast::lease
