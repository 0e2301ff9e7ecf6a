#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "locks/lease/hold.h"
#include "locks/lease/hold_events.h"
#include "locks/lease/holds.h"
#include "locks/lease/late_renewals.h"
#include "locks/lease/note_book.h"
#include "locks/lease/notes.h"
#include "locks/lease/open_blocks.h"
#include "locks/lease/records.h"
#include "locks/lease/releases.h"
#include "locks/lease/renewal_grid.h"
#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/base/stats.h"
#include "redis/net/pollable.h"

namespace holdfast::lease {

class Watchdog;

// A client's knowledge of one owner's hold of a name.
struct Known {
  bool lost = false;                  // it is known to be gone, and no grant came since
  std::optional<std::string> loss{};  // why, of a hold that was lost
  // Where it is held, by the client's clock:
  std::optional<Duration> left{};       // its validity
  std::optional<std::int64_t> token{};  // the newest that a grant brought
  std::vector<Lease> levels{};          // the leases of the nested holds, the outermost first
};

// All holds of one client: their counts, until when each may be trusted, and the watchdog that
// renews them. A hold that is gone is *lost*, which is posted as an event. Of the losses the last
// 10 000 are known until the owner's next grant or end; a `with` block that lost its grant is known
// until its end.
//
// One lock guards it all, so that a hold is at any moment either held or on its way back, and its
// timer, its events and its figures agree with it. An acquisition is an Attempt, what ends holds
// are the Releases, what looks at many holds at once is in overview.h: all come in by the same
// door, an EntryLock, which has the lock and the owner's entry in the table; what needs no entry
// takes the lock by itself. It is taken with that of an exchange held, never the other way round;
// with it held only those of the loop, of the timers, of the notices, of the events' queue and, for
// a loss, of the WaitRegistry are taken, and nothing is sent.
//
// Thread-safe. Shared by the client, and by the loop for as long as that drives its watchdog: what
// is held when the client is closed is lost later.
class Keeper : public std::enable_shared_from_this<Keeper> {
 public:
  Keeper(const Clock& a_clock, net::Loop& loop, std::string client, std::shared_ptr<EventSink> sink,
         std::shared_ptr<Stats> stats = std::make_shared<Stats>());
  ~Keeper();

  // Where the holds are recorded for a guard; at most once, before the first attempt.
  void set_records(std::shared_ptr<HeldRecords> kept) HOLDFAST_EXCLUDES(mutex);

  Releases releases;
  Notes notes;
  Watchdog& watchdog() { return *watchdog_; }

  // How many holds the owner has, as far as the client knows; 0 when they are lost.
  int count(const LockName& name, OwnerNumber owner) const HOLDFAST_EXCLUDES(mutex);
  // Whether it has a hold, be it lost, or a release that is under way or to report.
  bool knows(const LockName& name, OwnerNumber owner) const HOLDFAST_EXCLUDES(mutex);
  Known known(const LockName& name, OwnerNumber owner) const HOLDFAST_EXCLUDES(mutex);
  // The owner is acquiring it.
  bool acquiring(const LockName& name, OwnerNumber owner) const HOLDFAST_EXCLUDES(mutex);
  // How many holds there are whose changes the server will report.
  std::size_t tracked() const HOLDFAST_EXCLUDES(mutex);
  // The server may still execute an earlier renewal of the owner's, after which the lease of what
  // is not renewed would be longer than was asked for.
  bool renewal_on_wire(const LockName& name, OwnerNumber owner) const HOLDFAST_EXCLUDES(mutex);

  // A new fixed lease is about to be requested: from now on the hold is not renewed, and until the
  // answer is there, the shorter one of both leases counts. The number of the extension; 0: none
  // is begun, as the hold is not there, or is being detached.
  std::uint32_t begin_extension(const LockName& name, OwnerNumber owner, Millis lease)
      HOLDFAST_EXCLUDES(mutex);
  // The lease was set by a command sent at `sent`. When another extension has begun since, which
  // may have been executed, too, the shorter one counts still.
  struct Extension {
    std::uint32_t number;
    Millis lease;
  };
  void extended(const LockName& name, OwnerNumber owner, const Extension& extension, TimePoint sent)
      HOLDFAST_EXCLUDES(mutex);

  // The hold turned out to be gone.
  void lose(const LockName& name, OwnerNumber owner, const std::string& reason)
      HOLDFAST_EXCLUDES(mutex);
  // More is known of why a hold of the name was lost, on any side.
  void explain(std::string_view name, OwnerNumber owner, const std::string& reason)
      HOLDFAST_EXCLUDES(mutex);
  // A loss that is not to be reported to its owner.
  void forget_loss(const LockName& name, OwnerNumber owner) HOLDFAST_EXCLUDES(mutex);
  // For a grant: the listener no longer receives the loss of the hold.
  void forget_listener(const LockName& name, OwnerNumber owner, std::uint64_t listener)
      HOLDFAST_EXCLUDES(mutex);

  // The client is being closed: what is granted from now on is given back. `idle` is called, on
  // any thread, with locks held, whenever no acquisition is under way any more and no release.
  void begin_close(std::function<void()> idle) HOLDFAST_EXCLUDES(mutex);
  bool is_closing() const HOLDFAST_EXCLUDES(mutex);
  // No acquisition is under way, of those that are counted, and no release.
  bool is_idle() const HOLDFAST_EXCLUDES(mutex);
  // Nothing is sent any more. What is held is lost at the end of the time for which it is trusted;
  // the losses that are known stay known. `kept` is kept until the last hold is lost, which is
  // posted as an event (unless it is null). The names of what was still held, or may be.
  std::vector<std::string> close(std::shared_ptr<void> kept = nullptr) HOLDFAST_EXCLUDES(mutex);
  bool is_closed() const HOLDFAST_EXCLUDES(mutex);

  // ---- For its parts, with the lock held

  // The watchdog steps at that time, or before it; at once if that is in the past.
  void step_by(TimePoint at) HOLDFAST_REQUIRES(mutex);
  // For the moment when the hold is to be renewed, or its lease is over; at `now` at the earliest.
  void arm(Hold& hold, TimePoint now) HOLDFAST_REQUIRES(mutex);
  // A command is about to set another lease, after which it is not renewed. Until an answer is
  // there, the shorter lease counts.
  void begin_lease(Hold& hold, Millis lease, TimePoint now) HOLDFAST_REQUIRES(mutex);
  // A hold in the table has turned out to be gone: counts and posts it.
  void lose(Hold& hold, const std::string& reason) HOLDFAST_REQUIRES(mutex);
  // If its lease is over by the client's clock.
  void lose_if_over(Hold& hold, TimePoint now) HOLDFAST_REQUIRES(mutex) {
    if (hold.held() && now >= hold.trusted() && !hold.internal) lose(hold, ran_out(hold));
  }
  // Why a hold is lost whose lease is over by the client's clock.
  std::string ran_out(const Hold& hold) const HOLDFAST_REQUIRES(mutex);
  // The note of a hold ends: now, or at that time, where nothing renews the hold any more.
  void end_note(Hold& hold, std::optional<TimePoint> at = {}) HOLDFAST_REQUIRES(mutex) {
    if (note_book.end(hold, at) && !closed) step_by(note_book.next());
  }
  // What the owner does next does the work of the pending release; a hold that was being released
  // counts as released.
  void drop_release(Holds::Entry& entry) HOLDFAST_REQUIRES(mutex);
  // `hold`: null: nothing is.
  void count_released(const Hold* hold, Holds::Caller caller) const HOLDFAST_REQUIRES(mutex);
  // A client that closes gets to know.
  void notify_if_idle() const HOLDFAST_REQUIRES(mutex) {
    if (closing && on_idle && acquisitions == 0 && holds.pending() == 0) on_idle();
  }

  const Clock& clock;
  const std::string client_id;
  const RenewalGrid grid;
  bool recorded = false;  // set_records() was called
  Notices notices;

  mutable Mutex mutex;
  Holds holds HOLDFAST_GUARDED_BY(mutex);
  OpenBlocks blocks HOLDFAST_GUARDED_BY(mutex);
  HoldEvents events HOLDFAST_GUARDED_BY(mutex);
  NoteBook note_book HOLDFAST_GUARDED_BY(mutex);
  TimerWheel wheel HOLDFAST_GUARDED_BY(mutex);
  Records records HOLDFAST_GUARDED_BY(mutex);
  LateRenewals late_renewals HOLDFAST_GUARDED_BY(mutex);
  std::string renewal_failure
      HOLDFAST_GUARDED_BY(mutex);  // why the last renewal failed; empty: it did not
  TimePoint next_step HOLDFAST_GUARDED_BY(mutex) = kNever;  // the watchdog's
  std::size_t acquisitions HOLDFAST_GUARDED_BY(mutex) = 0;  // under way, that are counted
  // Servers say when the keys of a hold change: one that lasts for a moment is looked at, from then
  // on.
  bool tracks HOLDFAST_GUARDED_BY(mutex) = false;
  bool closing HOLDFAST_GUARDED_BY(mutex) = false;
  bool closed HOLDFAST_GUARDED_BY(mutex) = false;
  // Set once the client is closed: kept until the last hold that it held is reported as lost.
  std::shared_ptr<void> reports HOLDFAST_GUARDED_BY(mutex);
  std::function<void()> on_idle HOLDFAST_GUARDED_BY(mutex);

 private:
  net::Loop& loop_;
  const std::unique_ptr<Watchdog> watchdog_;
};

// The door to what an owner has to do with a name: holds the keeper's lock for a scope, and has the
// entry, if there is one, which is tidied at the end.
class HOLDFAST_THREAD_ANNOTATION(scoped_lockable) EntryLock : MutexLock, public UsedEntry {
 public:
  EntryLock(Keeper& keeper, const LockName& name, OwnerNumber owner)
      HOLDFAST_ACQUIRE(keeper.mutex) HOLDFAST_UNCHECKED
      : MutexLock(keeper.mutex),
        UsedEntry(keeper.holds, keeper.holds.find(name, owner)) {}
  ~EntryLock() HOLDFAST_RELEASE() HOLDFAST_UNCHECKED = default;
};

}  // namespace holdfast::lease
