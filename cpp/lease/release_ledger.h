#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/types.h"
#include "client/request.h"
#include "lease/hold_ptr.h"

namespace holdfast::lease {

// Every release of one client that the server has not answered for certain, by name, side and
// owner: of a hold, and of an attempt that may have been granted unheard. An entry is made before
// the release is first sent, and stays until the server has answered it or the lease is over.
//
//   (none) ──open──> open ──settle──> (none), or reported to the owner's next release
//                     │ ^
//            take_over│ │open (the attempt has ended without an answer)
//                     v │
//                  taken over ──settle_attempt (the attempt was answered)──> (none)
//
// An entry has one *command*, which carries the release to the server: it is in line now, or backs
// off until it is to be sent again. Its successor revokes it, so that nothing older is put in line
// behind what is newer (Request::revoke()). Each new release, and each attempt that takes the entry
// over, gives it the next serial number; an answer under an earlier number changes nothing.
//
// A machine without I/O and without a clock. Not thread-safe: see HoldBook.
class ReleaseLedger {
 public:
  using Command = std::shared_ptr<client::Request>;
  using Serial = std::uint64_t;

  enum class State : std::uint8_t {
    kOpen,       // its command is in line, or backs off
    kTakenOver,  // the owner's next attempt is under way, and says what is there
    kRefused,    // the server refuses it for good; the owner's next release tries again
    kReleased,   // done after its caller had left; the owner's next release reports it
  };

  enum class Caller : std::uint8_t {
    kAwaits,    // the answer; if it never got it, the owner's next release reports the end
    kMayLeave,  // the same until its command is written; the end is posted in any case
    kLeft,      // has not waited for the answer: the end is posted, and no release reports it
  };

  struct Entry {
    LockName name;
    Serial serial = 0;
    State state = State::kOpen;
    Command command{};         // may be null: not yet there
    TimePoint until = kNever;  // when the lease is over for certain
    TimePoint trusted{};       // until when the released hold was trusted
    HoldPtr hold{};            // that is being released; null: an attempt is taken back
    Caller caller = Caller::kAwaits;
  };

  // Nothing is there.
  bool empty() const { return entries_.empty(); }
  // The number of entries that may still be there on the server.
  std::size_t pending() const { return pending_; }

  Entry* find(const LockName& name, OwnerNumber owner);
  const Entry* find(const LockName& name, OwnerNumber owner) const;
  // Under that serial number, open still; null otherwise.
  Entry* open_at(const LockName& name, OwnerNumber owner, Serial serial);

  // A release is about to be sent. One of the same owner and name that is open, or was taken over,
  // becomes part of it: its command is revoked, and the longer time counts.
  Entry& open(OwnerNumber owner, Entry fresh);

  // Another command for the same release. False when the entry has another number, or is
  // not open.
  bool resume(const LockName& name, OwnerNumber owner, Serial serial, Command command);

  // The owner makes an attempt: what is open is the attempt's affair from now on. True when there
  // was something.
  bool take_over(const LockName& name, OwnerNumber owner);

  // The attempt was answered: what was there before it is there no more, or is its grant.
  void settle_attempt(const LockName& name, OwnerNumber owner);

  // The server has answered the release of that number, or its lease is over. Returns the entry; an
  // empty name: it has another number.
  Entry settle(const LockName& name, OwnerNumber owner, Serial serial);

  // The same, where the owner's next release is to report it, or to try again.
  void keep(const LockName& name, OwnerNumber owner, Serial serial, State state);

  // Whatever there is of that owner and name: its command is revoked.
  void drop(const LockName& name, OwnerNumber owner);

  // The owner has ended: no caller is left to report to. What is pending goes on; the end of a
  // deferred release is still posted.
  void owner_ended(OwnerNumber owner);

  // The names of what may still be there on the server.
  std::vector<std::string> names() const;
  void clear();

 private:
  using Entries = std::unordered_multimap<OwnerNumber, Entry>;
  struct Reported {
    OwnerNumber owner;
    LockName name;
    Serial serial;
  };

  static bool counts(State state) { return state == State::kOpen || state == State::kTakenOver; }
  static void revoke(Entry& entry);
  Entries::iterator at(const LockName& name, OwnerNumber owner);
  void set_state(Entry& entry, State state);
  void erase(Entries::iterator entry);
  void forget_old();

  Entries entries_;
  std::size_t pending_ = 0;
  Serial serials_ = 0;
  std::deque<Reported> reported_;  // of kRefused and kReleased, the oldest first; bounded
};

}  // namespace holdfast::lease
