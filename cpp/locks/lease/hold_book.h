#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "locks/lease/hold_events.h"
#include "locks/lease/holds.h"
#include "locks/lease/note_book.h"
#include "locks/lease/open_blocks.h"
#include "locks/lease/renewal_grid.h"
#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/base/timer_wheel.h"
#include "redis/net/pollable.h"

namespace holdfast::lease {

class Watchdog;

// What the parts of one LeaseKeeper share, under one lock: so that a hold is at any moment either
// held or on its way back, and its timer, its events and its figures agree with it. Each part locks
// it for each of its methods; only `clock`, `client_id` and `recorded` are free to read. It is
// taken with the lock of an exchange held, never the other way round; with it held only those of
// the loop, of the timers and of the events' queue are taken, and nothing is sent.
class HoldBook {
 public:
  HoldBook(const Clock& a_clock, net::Loop& loop, std::string client, HoldEvents a_events)
      : clock(a_clock),
        client_id(std::move(client)),
        events(std::move(a_events)),
        wheel(a_clock.now()),
        grid_(client_id),
        loop_(loop) {}

  const std::weak_ptr<Watchdog>& watchdog() const { return watchdog_; }
  // Which renews the holds; to be called once, before the first grant.
  void set_watchdog(std::weak_ptr<Watchdog> watchdog) { watchdog_ = std::move(watchdog); }
  // For a guard; to be called once, before the first attempt.
  void set_records(std::shared_ptr<HeldRecords> kept) HOLDFAST_EXCLUDES(mutex);
  // The watchdog steps soon.
  void drive() const;
  // The watchdog steps at that time, or before it.
  void step_by(TimePoint at) HOLDFAST_REQUIRES(mutex);

  // For the moment when the hold is to be renewed, or its lease is over; at `now` at the earliest.
  void arm(Hold& hold, TimePoint now) HOLDFAST_REQUIRES(mutex);
  // Sets the time of the next renewal, after a grant, or a renewal that was sent then.
  void plan_first_renewal(Hold& hold, const Grant& grant) const HOLDFAST_REQUIRES(mutex);
  void plan_renewal(Hold& hold, TimePoint sent, TimePoint now) const HOLDFAST_REQUIRES(mutex);
  // A command is about to set another lease, after which it is not renewed. Until an answer is
  // there, the shorter lease counts.
  void begin_lease(Hold& hold, Millis lease, TimePoint now) HOLDFAST_REQUIRES(mutex);
  // It is held as before an attempt to give it back: the renewal, or the look, that was put off
  // meanwhile is due now.
  void resume(Hold& hold) HOLDFAST_REQUIRES(mutex);
  // A hold in the table has turned out to be gone: counts and posts it.
  void lose(Hold& hold, const std::string& reason) HOLDFAST_REQUIRES(mutex);
  // The note of a hold ends: now, or at that time, where nothing renews the hold any more.
  void end_note(Hold& hold, std::optional<TimePoint> at = {}) HOLDFAST_REQUIRES(mutex) {
    if (hold.noted != Noted::kNever) remove_note(hold, at);
  }
  // The lease of the hold was set, for which the client's key has to live where it has a note.
  void write_note_again(Hold& hold) HOLDFAST_REQUIRES(mutex) {
    notes.write_again(hold);
    step_by(notes.next());
  }
  // Where there are records: of a hold that was granted, by an attempt with that record; of one
  // whose lease was set; and the end of a record.
  void record(Hold& hold, HeldRecords::Id granted) HOLDFAST_REQUIRES(mutex);
  void renew_record(Hold& hold) HOLDFAST_REQUIRES(mutex);
  void end_record(HeldRecords::Id& record) HOLDFAST_REQUIRES(mutex) {
    if (record != 0) remove_record(record);
  }
  // Why a hold is lost whose lease is over by the client's clock.
  std::string ran_out(const Hold& hold) const HOLDFAST_REQUIRES(mutex);
  // A hold ends, and a renewal of it may still be executed, on the owner's next hold.
  void note_late_renewal(Hold& hold, TimePoint now) HOLDFAST_REQUIRES(mutex) {
    if (!closed && hold.renewal_may_come(now)) keep_late_renewal(hold);
  }
  // Whether the server may still execute a renewal of the owner's that sets a longer lease than a
  // command without renewal asks for now: of an ended hold, or of one that is not renewed any more.
  bool renewal_on_wire(const LockName& name, OwnerNumber owner) const HOLDFAST_REQUIRES(mutex);
  // Forgets the renewals that cannot be executed any more.
  void forget_late_renewals() HOLDFAST_REQUIRES(mutex);
  // If its lease is over by the client's clock. Returns the time.
  TimePoint lose_if_over(Hold& hold) HOLDFAST_REQUIRES(mutex) {
    const TimePoint now = clock.now();
    lose_if_over(hold, now);
    return now;
  }
  void lose_if_over(Hold& hold, TimePoint now) HOLDFAST_REQUIRES(mutex) {
    if (hold.held() && now >= hold.trusted() && !hold.internal) lose(hold, ran_out(hold));
  }
  // What the owner does next does the work of the pending release; a hold that was being released
  // counts as released.
  void drop_release(Holds::Entry& entry) HOLDFAST_REQUIRES(mutex) {
    if (entry.release != Holds::Release::kNone) drop_present_release(entry);
  }
  // The client closes: ends the entry if it is that of the client's key. Returns whether it was.
  bool end_internal(Holds::Entry& entry) HOLDFAST_REQUIRES(mutex);
  // `hold`: null: nothing is.
  void count_released(const Hold* hold, Holds::Caller caller) const HOLDFAST_REQUIRES(mutex);
  // No acquisition is under way, and no release. Of a client that closes: it gets to know.
  bool idle() const HOLDFAST_REQUIRES(mutex) { return acquisitions == 0 && holds.pending() == 0; }
  void notify_if_idle() const HOLDFAST_REQUIRES(mutex) {
    if (closing && on_idle && idle()) on_idle();
  }

  const Clock& clock;
  const std::string client_id;
  bool recorded = false;  // set_records() was called

  mutable Mutex mutex;
  Holds holds HOLDFAST_GUARDED_BY(mutex);
  OpenBlocks blocks HOLDFAST_GUARDED_BY(mutex);
  HoldEvents events HOLDFAST_GUARDED_BY(mutex);
  NoteBook notes HOLDFAST_GUARDED_BY(mutex);
  TimerWheel wheel HOLDFAST_GUARDED_BY(mutex);
  std::string renewal_failure HOLDFAST_GUARDED_BY(mutex);   // of the last renewal; empty: none
  TimePoint next_step HOLDFAST_GUARDED_BY(mutex) = kNever;  // of the watchdog
  std::size_t acquisitions HOLDFAST_GUARDED_BY(mutex) = 0;  // under way, that are counted
  // Servers say when the keys of a hold change: one that lasts for a moment is looked at, from then
  // on.
  bool tracks HOLDFAST_GUARDED_BY(mutex) = false;
  std::shared_ptr<HeldRecords> records HOLDFAST_GUARDED_BY(mutex);  // null: none, or closed
  std::vector<HoldPtr> late_renewals HOLDFAST_GUARDED_BY(mutex);  // of ended holds; most often none
  bool closing HOLDFAST_GUARDED_BY(mutex) = false;
  bool closed HOLDFAST_GUARDED_BY(mutex) = false;
  // Set once the client is closed: kept until the last hold that it held is reported as lost.
  std::shared_ptr<void> reports HOLDFAST_GUARDED_BY(mutex);
  std::function<void()> on_idle HOLDFAST_GUARDED_BY(mutex);

 private:
  void keep_late_renewal(Hold& hold) HOLDFAST_REQUIRES(mutex);
  void drop_present_release(Holds::Entry& entry) HOLDFAST_REQUIRES(mutex);
  void remove_note(Hold& hold, std::optional<TimePoint> at) HOLDFAST_REQUIRES(mutex);
  void remove_record(HeldRecords::Id& record) HOLDFAST_REQUIRES(mutex);
  void keep_record(Hold& hold) HOLDFAST_REQUIRES(mutex);

  const RenewalGrid grid_;
  net::Loop& loop_;
  std::weak_ptr<Watchdog> watchdog_;
};

}  // namespace holdfast::lease
