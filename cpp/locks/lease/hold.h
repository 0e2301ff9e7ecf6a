#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "locks/base/event.h"
#include "locks/base/ref.h"
#include "locks/base/trace.h"
#include "locks/base/types.h"
#include "locks/lease/look_budget.h"
#include "locks/lease/renewal.h"
#include "redis/base/clock.h"

namespace holdfast::lease {

// The reasons of a loss that a server reports, by which command has found it.
inline constexpr const char* kGone =
    "the server no longer has it (it expired, was removed, or the server lost its data)";
inline constexpr const char* kGoneAtExtension = "the server no longer had it when it was extended";
inline constexpr const char* kGoneAtAcquire = "a reentrant acquire did not find it on the server";
inline constexpr const char* kGoneReasons[] = {kGone, kGoneAtExtension, kGoneAtAcquire};
// The reasons of a loss that no server has reported.
inline constexpr const char* kRanOut = "its lease ran out";
inline constexpr const char* kNotRenewed =
    "no renewal reached the server before its lease ran out";  // followed by why
// The reason of a loss: the server has not answered the release in time.
inline constexpr const char* kReleaseExpired =
    "its lease ran out before its release reached the server";
// The reason of a loss: it was held when its client was closed.
inline constexpr const char* kClientClosed = "its client was closed";

// By the reason of a loss.
Event::Cause cause_of(const std::string& reason);

// Where a client keeps a record of every hold that the server may have of it, for a guard process,
// which releases them after the program's death. A record that is left ends at its moment. Called
// with the keeper's lock held; makes no system call.
class HeldRecords {
 public:
  // 0: no record, on which the other calls have no effect.
  using Id = std::uint64_t;

  virtual ~HeldRecords() = default;

  // The owner may have it from now on, at most until `until`. 0: there is no room for it.
  virtual Id add(const LockName& name, OwnerNumber owner, const Renewal& kind, TimePoint until) = 0;
  // False: the record had ended, and its room is taken back.
  virtual bool set_until(Id record, TimePoint until) = 0;
  virtual void remove(Id record) = 0;
};

// Whether the client's key has a note of a hold: see NoteBook.
enum class Noted : std::uint8_t {
  kNever,    // nor will it
  kDue,      // once the hold has lasted
  kSaid,     // since its acquire
  kWritten,  // by the watchdog
  kLeftOut,  // there are too many
};

// Which lock made of locks a hold of a member was taken for: 31 bits of a hash; 0: for none.
using WholeId = std::uint32_t;

// A grant of the server, to one owner of one lock.
struct Grant {
  LockName name;
  OwnerNumber owner;
  int count = 1;  // the hold count that this grant makes
  Lease lease;
  TimePoint sent;  // the moment before the granting command went out
  const Renewal* renewal = nullptr;
  std::uint64_t listener = 0;           // receives the loss of each; 0: none
  std::optional<std::int64_t> token{};  // that came with it
  Millis at_least{0};                   // from the first grant on the lock stays closed for so long
  TimePoint at{};                       // when the grant arrived
  bool counted = true;                  // among the figures of the client's locks
  bool block = false;                   // the end of a `with` block releases it
  WholeId whole = 0;
  // How many holds, of several permits at once: the owner's is the first one; the owners of the
  // others have the numbers that follow its number.
  std::int64_t amount = 1;
  const std::string* about = nullptr;  // what the client's key says
  const Purpose* purpose = nullptr;    // null: it has none
};

// Which of an owner's nested holds a release ends: an owner may hold a member of a lock made of
// locks beside that, and neither release ends what the other one's acquire has taken.
struct Ending {
  enum class How : std::uint8_t {
    kInnermost,  // that of `whole`; if there is none, of all
    kWhole,      // all of `whole`, of which there may be none
    kAll,
  };
  How how = How::kInnermost;
  WholeId whole = 0;
};

// The holds that one owner has of one lock, nested: was each acquired without a lease, and for
// which lock made of locks?
class Levels {
 public:
  int count() const { return static_cast<int>(marks_.size()); }
  bool renewed() const { return renewed_; }  // one of them is
  bool renewed_at(int level) const {
    return (marks_[static_cast<std::size_t>(level)] & kRenewed) != 0;
  }
  // The inner ones end; or, if the server knows of more holds than we do, those have a lease.
  void set_count(int count) {
    if (count != this->count()) resize(count);
  }
  void push(bool renewed, WholeId whole) {
    marks_.push_back((static_cast<Mark>(whole) << 1U) | (renewed ? kRenewed : 0U));
    renewed_ = renewed_ || renewed;
  }
  // How many of them end.
  int count_of(Ending ending) const {
    return ending.how == Ending::How::kInnermost ? 1 : count_of_several(ending);
  }
  void end(Ending ending);
  void all_leased();

 private:
  using Mark = char32_t;
  static constexpr Mark kRenewed = 1;

  static constexpr WholeId whole_of(Mark mark) { return static_cast<WholeId>(mark >> 1U); }
  void resize(int count);
  int count_of_several(Ending ending) const;
  void note_renewed();

  // One for each, the outermost first. A text has room for three by itself: 32 bytes of a hold and
  // no allocation, where a std::vector takes 56 and 18 ns more.
  std::u32string marks_;
  bool renewed_ = false;
};

// A lease that another program sets, too, and has lately been seen to set to less than this client
// does. It may do so again at any moment, so until a whole lease has passed without it a hold is
// renewed and trusted as if its lease were the shortest one seen. Guarded by its hold's lock.
//
// Such programs are Redisson's readers: they set the expiry of the hash that all readers share to
// their own lease, downward too. A field or key of holdfast would not keep Java's writers out, and
// renewing every reader each 250 ms would cost forty times the commands for those who share
// nothing.
class ShortenedLease {
 public:
  // A renewal has found only `left` of the lease.
  void observe(Millis left, TimePoint now, Millis lease) {
    shortest_ = lasts(now) ? std::min(shortest_, left) : left;
    ends_ = after(now, lease);
  }

  // Whether the other program may still set its lease.
  bool lasts(TimePoint now) const { return now < ends_; }

  // The part of `lease` that may be relied upon.
  Millis part_of(Millis lease, TimePoint now) const {
    return lasts(now) ? std::min(lease, std::max(shortest_, kLeast)) : lease;
  }

 private:
  static constexpr Millis kLeast{750};  // renewals are no closer than 250 ms, a third of it
  Millis shortest_{0};
  TimePoint ends_{};
};

// Whether commands about a hold may go out still, and whether the one that is in flight has gone
// out. What encodes a command has the connection's lock, what stops a hold the keeper's: so both
// are changed at once, without a lock.
class Sending {
 public:
  // Another command is to go out.
  void begin() { state_.fetch_and(kStopped); }
  // It goes out. False: the hold was stopped before, and it does not.
  bool write() {
    std::uint8_t state = state_.load();
    while ((state & kStopped) == 0) {
      if (state_.compare_exchange_weak(state, state | kWritten)) return true;
    }
    return false;
  }
  void stop() { state_.fetch_or(kStopped); }
  bool stopped() const { return (state_.load() & kStopped) != 0; }
  bool written() const { return (state_.load() & kWritten) != 0; }

 private:
  static constexpr std::uint8_t kStopped = 1;
  static constexpr std::uint8_t kWritten = 2;
  std::atomic<std::uint8_t> state_{0};
};

// The fields that only few holds have: made when the first is set. Guarded as the hold.
struct HoldExtras {
  // A detach that gives it the field of a ticket, or has no answer and may do so yet.
  struct Move {
    const std::string other;
    Millis lease{0};    // the one that the newest detach sets
    Millis minimum{0};  // that the lock was to stay closed when the newest detach began
  };

  std::vector<std::uint64_t> listeners;  // to its loss, each once
  std::string about;                     // what an internal one's key says; constant
  std::string reason;                    // the reason of the loss
  Purpose purpose;                       // that was said last
  std::unique_ptr<Move> move;            // once a detach was begun: see Releases::begin_detach()
  TimePoint closed_until{};              // the lock, whenever it is released
  // The end of the part of its lease that other programs leave, while it is renewed.
  TimePoint relied_until = kNever;
  // Without renewal: the end of what another client has left of the lease, as the latest look has
  // found it; kNever: all of it. Another client may lengthen it again.
  TimePoint cut_until = kNever;
  // A renewal was written to a connection that has failed: what stands between may pass it on to
  // the server until then.
  TimePoint renewal_comes_until{};
  ShortenedLease shortened;
  LookBudget looks;                         // that changes have caused
  std::vector<std::uint64_t> tracked_keys;  // by TrackedHolds, beside its name: their hashes
};

enum class HoldState : std::uint8_t {
  kHeld,
  kReleasing,  // the last release is on its way: see Holds
  kLost,       // gone; kept until the owner's next grant, which may ask for it
};

// How long a hold is not tracked, so that short ones cost nothing.
constexpr Millis kYoung{100};

class Hold;
void add_reference(Hold& hold);
void drop_reference(Hold& hold);

// Shared by what has something to do with a hold: its entry, and renewals under way.
using HoldPtr = Ref<Hold>;

// One owner's hold of one lock, and the timer of what is next to be done for it. There may be a
// million: what few of them have is in HoldExtras, and what belongs to a command that is under way
// in RenewalBatch and HoldRequest, as far as it can. For the same reason the tables of holds are
// arrays of hashes and pointers (HashIndex), names are shared and no command is kept encoded:
// benchmarks/memory.py counts the bytes. Guarded by the keeper's lock, but for what
// those two read to encode: that stays as it is while the hold is in flight.
class Hold final : public Timer {
 public:
  using State = HoldState;
  using Move = HoldExtras::Move;

  // `its_owner`: of one of those that were granted.
  Hold(const Grant& grant, OwnerNumber its_owner)
      : name(grant.name),
        owner(its_owner),
        renewal(grant.renewal),
        since(grant.at),
        requested(grant.sent),
        counted(grant.counted) {}

  bool held() const { return state == State::kHeld; }
  // Until when the hold may be believed to be there.
  TimePoint trusted() const {
    if (!extras) return set_until;
    return std::min(set_until, renewed() ? extras->relied_until : extras->cut_until);
  }
  bool trusted_at(TimePoint now) const { return held() && now < trusted(); }
  bool renewed() const { return levels.renewed(); }

  HoldExtras& ensure_extras() {
    if (!extras) extras = std::make_unique<HoldExtras>();
    return *extras;
  }
  Move* move() const { return extras ? extras->move.get() : nullptr; }
  TimePoint closed_until() const { return extras ? extras->closed_until : TimePoint{}; }
  std::string reason() const { return extras ? extras->reason : std::string(); }

  using Step = TraceEntry::Step;
  void trace(Step step) const {
    Trace::record({step, name.bytes(), name.side(), owner, trusted()});
  }

  // The part of a lease that other programs leave of it.
  Millis part_of(Millis whole, TimePoint now) const {
    return extras ? extras->shortened.part_of(whole, now) : whole;
  }

  // An earlier renewal may reach the server after what its owner sends now, as it is unanswered, or
  // its connection has failed. Not one that was not written when the hold was stopped.
  bool renewal_may_come(TimePoint now) const {
    const bool unanswered = in_flight && sent_renewal && (sending.written() || !sending.stopped());
    return unanswered || (extras && now < extras->renewal_comes_until);
  }

  // A command that may end it, or give it the field of a ticket, is unanswered: until then a
  // renewal or check that does not find it proves nothing, and none is sent.
  bool may_be_gone() const { return joint || move() != nullptr; }

  // A renewal that was sent then has been confirmed by this reply.
  void record_renewal(TimePoint sent, std::int64_t reply, TimePoint now);
  // A command that was sent then has set a lease of `given`; a longer one on the server stays.
  void set_lease(TimePoint sent, Millis given, TimePoint now);
  // One more hold of the owner has been granted.
  void add_level(const Grant& grant);

  // Its timer and its renewals end.
  void stop_renewing() {
    disarm();
    sending.stop();
  }

  void forget(std::uint64_t listener) {
    if (!extras) return;
    std::vector<std::uint64_t>& all = extras->listeners;
    all.erase(std::remove(all.begin(), all.end(), listener), all.end());
  }

 private:
  friend void add_reference(Hold& hold);
  friend void drop_reference(Hold& hold);
  ReferenceCount references_;

 public:
  const LockName name;
  const OwnerNumber owner;
  const Renewal* const renewal;
  const TimePoint since;      // the first of its grants arrived
  const TimePoint requested;  // the command of that grant was sent
  std::uint64_t serial = 0;
  Levels levels;
  std::int64_t token = 0;  // the newest that a grant brought (they are positive)
  Millis lease{0};         // the lease of the holds that are renewed
  Millis fixed_lease{0};   // the newest one that is not renewed
  TimePoint set_until{};   // the end of the lease that this client's commands have set
  TimePoint next_renewal = kNever;
  TimePoint next_look = kNever;  // a check of a hold that may have changed, or is to be tracked
  HeldRecords::Id record = 0;    // its record for a guard
  Millis sent_lease{0};
  TimePoint set_until_when_sent{};    // `set_until` when it was sent
  std::uint32_t extensions = 0;       // that have begun
  std::uint32_t sent_extensions = 0;  // extensions that had begun before what is in flight
  std::uint32_t group = 0;            // holds with one number are renewed together
  int blocks = 0;                     // open `with` blocks that began with its grants
  const bool counted;                 // among the figures of the client's locks
  State state = State::kHeld;
  Noted noted = Noted::kNever;
  bool tracked = false;   // is among the TrackedHolds
  bool joint = false;     // a release of several holds is under way
  bool reported = false;  // the loss, by a release
  bool refused = false;   // an acquire, for the loss
  bool internal = false;  // the client's key, which no caller holds: see Notes::keep_client_key()
  bool excused = false;   // its owner releases it by force: the loss refuses no acquire
  bool in_flight = false;
  bool alone = false;                  // the server has refused the batch that it was in
  bool sent_renewal = false;           // what is in flight: a renewal, or a check
  Sending sending;                     // read and changed without the keeper's lock, too
  std::unique_ptr<HoldExtras> extras;  // null: none of them is set
};

}  // namespace holdfast::lease
