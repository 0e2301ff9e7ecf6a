#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "locks/lease/attempts.h"
#include "locks/lease/hold.h"
#include "locks/lease/hold_book.h"
#include "locks/lease/notes.h"
#include "locks/lease/releases.h"
#include "locks/lease/watchdog.h"
#include "redis/base/mutex.h"
#include "redis/base/stats.h"
#include "redis/net/pollable.h"

namespace holdfast::lease {

// What a client knows of one owner's hold of a name.
struct Known {
  bool lost = false;                  // it is known to be gone, and no grant came since
  std::optional<std::string> loss{};  // why, of a hold that was lost
  // Where it is held, by the client's clock:
  std::optional<Duration> left{};       // its validity
  std::optional<std::int64_t> token{};  // of the newest grant that brought one
  std::vector<Lease> levels{};          // the leases of the nested holds, the outermost first
};

// All holds of one client: their counts, until when each may be trusted, and the watchdog that
// renews them. A hold that is gone is *lost*, which is posted as an event. Of the losses the last
// 10 000 are known until the owner's next grant or end; a `with` block that lost its grant is known
// until its end.
//
// What changes holds is in its parts: attempts() and releases(), and the extensions. It answers
// itself what is held, and by which owners. Thread-safe, as its parts.
class LeaseKeeper {
 public:
  LeaseKeeper(const Clock& clock, net::Loop& loop, std::string client_id,
              std::shared_ptr<EventSink> events,
              std::shared_ptr<Stats> stats = std::make_shared<Stats>());

  // Where the holds are recorded for a guard; at most once, before the first attempt.
  void set_records(std::shared_ptr<HeldRecords> records) { book_->set_records(std::move(records)); }

  Attempts& attempts() { return attempts_; }
  Releases& releases() { return releases_; }
  Notes& notes() { return notes_; }
  Watchdog& watchdog() { return *watchdog_; }

  // How many holds the owner has, as far as the client knows; 0 when they are lost.
  int count(const LockName& name, OwnerNumber owner) const;
  // There is something to report of a hold of the owner's, be it that it is lost or being released.
  bool knows(const LockName& name, OwnerNumber owner) const;
  Known known(const LockName& name, OwnerNumber owner) const;
  std::optional<Duration> left(const LockName& name, OwnerNumber owner) const;  // as of Known
  std::vector<Holder> holders(const LockName& name) const;
  // The server may still execute an earlier renewal of the owner's, after which the lease of what
  // is not renewed would be longer than was asked for.
  bool renewal_on_wire(const LockName& name, OwnerNumber owner) const;
  struct Held {
    LockName name;
    OwnerNumber owner;
    const Renewal* renewal;
    bool internal;  // the client's key
  };
  std::vector<Held> held() const;

  // A new fixed lease is about to be requested: from now on the hold is not renewed, and until the
  // answer is there, the shorter one of both leases counts. The number of the extension; 0: none
  // is begun, as the hold is not there, or is being detached.
  std::uint32_t begin_extension(const LockName& name, OwnerNumber owner, Millis lease);
  // The lease was set by a command sent at `sent`. When another extension has begun since, which
  // may have been executed, too, the shorter one counts still.
  struct Extension {
    std::uint32_t number;
    Millis lease;
  };
  void extended(const LockName& name, OwnerNumber owner, const Extension& extension,
                TimePoint sent);

  // The hold turned out to be gone.
  void lose(const LockName& name, OwnerNumber owner, const std::string& reason);
  // More is known of why a hold of the name was lost, on any side.
  void explain(std::string_view name, OwnerNumber owner, const std::string& reason);
  // A loss that is not to be reported to its owner.
  void forget_loss(const LockName& name, OwnerNumber owner);
  // For a grant: the listener no longer receives the loss of the hold.
  void forget_listener(const LockName& name, OwnerNumber owner, std::uint64_t listener);
  // The owner is about to remove the lock by force: a loss of its holds of the name that is found
  // from now on, as by a message before the command's reply, refuses no acquire.
  void begin_force(const LockName& name, OwnerNumber by) { excuse(name, by, true); }
  // The command has removed nothing.
  void forced_nothing(const LockName& name, OwnerNumber by) { excuse(name, by, false); }
  // This client has removed the lock by force, by a command sent at `sent`: its owners of this
  // client, on any side, have lost it; not one whose grant was requested later, as by a waiter that
  // the command woke before its reply was judged.
  void forced(const LockName& name, TimePoint sent);
  // The hold that the owner waits for will last suspiciously long: posts an event, once a minute
  // for a name.
  void report_overlong(const Subject& subject, Millis remaining);
  // The owner was refused by a key that never expires: the same.
  void report_foreign(const Subject& subject);
  // A semaphore has another number of permits than was wanted: posts an event, once for that
  // number.
  void report_permits(const LockName& name, std::int64_t there, std::int64_t wanted);
  // The owner has ended, `what` says which kind of it ("thread", "task"): its holds are left to
  // expire, each with an event.
  void owner_ended(OwnerNumber owner, const std::string& what = "owner");

  // The client is being closed: what is granted from now on is given back. `on_idle` is called, on
  // any thread, with locks held, whenever no acquisition is under way any more and no release.
  void begin_close(std::function<void()> on_idle);
  bool closing() const;
  bool idle() const;
  // Nothing is sent any more. What is held is lost at the end of the time for which it is trusted;
  // the losses that are known stay known. `reports` is kept until the last hold is lost, which is
  // posted as an event (unless it is null). The names of what was still held, or may be.
  std::vector<std::string> close(std::shared_ptr<void> reports = nullptr);
  bool closed() const;

 private:
  void excuse(const LockName& name, OwnerNumber owner, bool excused);

  const std::shared_ptr<HoldBook> book_;
  const std::shared_ptr<Watchdog> watchdog_;
  Attempts attempts_;
  Releases releases_;
  Notes notes_;
};

}  // namespace holdfast::lease
