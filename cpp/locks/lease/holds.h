#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "locks/base/hash_index.h"
#include "locks/base/types.h"
#include "locks/lease/hold.h"
#include "locks/lease/tracked_holds.h"
#include "redis/base/clock.h"
#include "redis/client/request.h"

namespace holdfast::lease {

// By which an owner's part in a name is found.
inline std::uint64_t hash_of(const LockName& name, OwnerNumber owner) {
  return name.hash() * 31 + static_cast<std::uint64_t>(owner);
}

// The table of a client's owners and locks: one entry for each name, side and owner,
// as long as it is acquiring, held, being released, or has an end to report.
//
// An entry has at most one hold. It is *current*: held, or lost until the owner's next grant; or it
// is *leaving*, as its last release is on its way. Beside that it may have one release that the
// server has not answered for certain: of the leaving hold, or of an attempt that may have been
// granted unheard. The release is there before it is first sent. Its states, and what changes them
// ("-": nothing does; "=": the same state):
//
//              | none | open          | taken over | refused    | released
//   open       | open | = *           | open       | open       | open
//   take_over  | -    | taken over *  | =          | taken over | -
//   keep       | -    | the state     | -          | -          | -
//   settle     | -    | none          | none       | none       | none
//   drop       | -    | none *        | none       | none       | none
//   end_owner  | -    | =             | =          | none       | none
//   close      | -    | none          | none       | none       | none
//
// A release has one *command*, which carries it to the server from its beginning to its end: it is
// in line now, or backs off until it is to be sent again. Its successor (*) revokes it, so that
// nothing older is put in line behind what is newer (Request::revoke()). An answer to another
// command than the one that the entry has changes nothing.
//
// The revocation is checked under the lock of the connection's queue, which decides the order: a
// thread that is suspended between a check elsewhere and the sending would send the release behind
// the owner's next attempt, and free that attempt's grant. The keeper's lock is not held while a
// command is submitted: that writes to a socket, for which the watchdog must not wait.
//
// A machine without I/O and without a clock. Not thread-safe: see Keeper.
class Holds {
 public:
  using Command = std::shared_ptr<client::Request>;

  enum class ReleaseState : std::uint8_t {
    kNone,
    kOpen,       // its command is in line, or backs off
    kTakenOver,  // the owner's next attempt is under way, and says what is there
    kRefused,    // the server refuses it for good; the owner's next release tries again
    kReleased,   // done after its caller had left; the owner's next release reports it
  };
  enum class Caller : std::uint8_t {
    kAwaits,    // the answer; if it never got it, the owner's next release reports the end
    kMayLeave,  // as kAwaits until its command is written; the end is posted in any case
    kLeft,      // has not waited for the answer: the end is posted, and no release reports it
  };

  struct Entry {
    Entry(LockName its_name, OwnerNumber its_owner) : name(std::move(its_name)), owner(its_owner) {}

    bool leaves() const { return hold && hold->state == HoldState::kReleasing; }
    Hold* current() const { return leaves() ? nullptr : hold.get(); }
    // Not answered yet: it may still be there on the server.
    bool pending() const {
      return release == ReleaseState::kOpen || release == ReleaseState::kTakenOver;
    }
    // That command carries its release.
    bool is_open(const client::Request* by) const {
      return release == ReleaseState::kOpen && command.get() == by;
    }

    const LockName name;
    const OwnerNumber owner;
    HoldPtr hold;
    int attempts = 0;  // that are under way, and exclude others of the owner
    // The release, and what is known about it.
    ReleaseState release = ReleaseState::kNone;
    Caller caller = Caller::kAwaits;
    Command command;           // null: of a release that is not open
    std::uint64_t end = 0;     // the number of an end that is kept
    TimePoint until = kNever;  // when the lease is over for certain

   private:
    friend class Holds;
    struct Place {
      Entry* next = nullptr;
      Entry** link = nullptr;  // what points to the entry
    };
    Place by_owner_;  // in its lists
    Place by_name_;
  };

  Holds() = default;
  Holds(const Holds&) = delete;
  Holds& operator=(const Holds&) = delete;
  ~Holds();

  // Null: there is none.
  Entry* find(const LockName& name, OwnerNumber owner) const;
  Entry& at(const LockName& name, OwnerNumber owner);
  // The current hold; and if it is not lost.
  Hold* hold(const LockName& name, OwnerNumber owner) const;
  Hold* held(const LockName& name, OwnerNumber owner) const {
    Hold* const current = hold(name, owner);
    return current != nullptr && current->held() ? current : nullptr;
  }
  std::size_t size() const { return entries_.size(); }
  std::vector<Entry*> of(OwnerNumber owner) const;
  // The entries of any owner, on either side. Takes the time of a 256th of all entries.
  std::vector<Entry*> named(std::string_view name) const;
  std::vector<Entry*> all() const;
  // The entry ends if nothing is left of it.
  void tidy(Entry& entry);

  // The entry gets a new hold; one that was lost ends.
  Hold& grant(Entry& entry, HoldPtr hold);
  // Its last release begins.
  void leave(Entry& entry) {
    tracked.remove(*entry.hold);
    entry.hold->state = HoldState::kReleasing;
    entry.hold->stop_renewing();
  }
  // It is lost: held or taken out before. It stays, unless later losses take its place.
  void lose(Hold& hold);
  void put_back(Entry& entry, HoldPtr lost);
  // Its owner holds it no longer: it has no serial number from now on.
  void end(Entry& entry);
  HoldPtr take_leaving(Entry& entry) { return entry.leaves() ? std::move(entry.hold) : HoldPtr(); }

  // A release begins. Another one becomes part of it: the longer time counts.
  void open(Entry& entry, Command command, TimePoint until);
  // The owner makes an attempt, whose affair the release is from now on. True: there was one.
  bool take_over(Entry& entry);
  // The server has answered, or the lease is over. Returns what was released.
  struct Released {
    HoldPtr hold;  // null: an attempt was taken back
    Caller caller = Caller::kAwaits;
  };
  Released settle(Entry& entry) {
    set_release(entry, ReleaseState::kNone);
    entry.command.reset();
    return {take_leaving(entry), std::exchange(entry.caller, Caller::kAwaits)};
  }
  // The release ends in this state, which the owner's next release reports, or tries again.
  void keep(Entry& entry, ReleaseState state);
  // The owner's next command does its work.
  void drop(Entry& entry);
  // No caller is left to report to. What is pending goes on; the end of a deferred release is still
  // posted.
  void end_owner(Entry& entry);
  // The client is closed: nothing is sent any more. Whether the hold may still be there.
  bool close(Entry& entry);
  // The number of entries with a pending release.
  std::size_t pending() const { return pending_; }

  // The server says when these change; only current holds are among them.
  TrackedHolds tracked;
  // How many there have been.
  std::uint64_t grants() const { return grants_; }

 private:
  static constexpr std::size_t kLists = 256;
  struct Kept {
    LockName name;
    OwnerNumber owner;
    std::uint64_t number;  // the hold's, or that of the entry's end
  };

  using Lists = std::array<Entry*, kLists>;
  using Where = Entry::Place Entry::*;
  static void put(Entry& entry, Lists& lists, std::size_t number, Where where);
  static void remove(Entry& entry, Where where);

  static void revoke(Entry& entry);
  void set_release(Entry& entry, ReleaseState state) {
    pending_ -= entry.pending() ? 1 : 0;
    entry.release = state;
    entry.end = 0;
    pending_ += entry.pending() ? 1 : 0;
  }
  void forget_old();

  HashIndex<Entry*> entries_;
  Lists owners_{};
  Lists names_{};
  std::size_t pending_ = 0;
  std::uint64_t numbers_ = 0;  // numbers holds and ends
  std::uint64_t grants_ = 0;
  std::deque<Kept> kept_;  // what may be lost, refused or released, the oldest first
};

// An entry that a transition uses: tidied at the end.
class UsedEntry {
 public:
  UsedEntry(Holds& holds, Holds::Entry* entry) : holds_(holds), entry_(entry) {}
  UsedEntry(const UsedEntry&) = delete;
  UsedEntry& operator=(const UsedEntry&) = delete;
  ~UsedEntry() {
    if (entry_ != nullptr) holds_.tidy(*entry_);
  }
  explicit operator bool() const { return entry_ != nullptr; }
  // The hold that is current, or is held; null: there is no such hold.
  Hold* current() const { return entry_ != nullptr ? entry_->current() : nullptr; }
  Hold* held() const {
    Hold* const hold = current();
    return hold != nullptr && hold->held() ? hold : nullptr;
  }
  Holds::Entry* get() const { return entry_; }
  Holds::Entry& operator*() const { return *entry_; }
  Holds::Entry* operator->() const { return entry_; }

 private:
  Holds& holds_;
  Holds::Entry* const entry_;
};

}  // namespace holdfast::lease
