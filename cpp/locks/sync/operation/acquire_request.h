#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "locks/base/types.h"
#include "locks/sync/operation/acquire_machine.h"
#include "locks/sync/operation/callers_time.h"
#include "locks/sync/operation/context.h"
#include "locks/sync/operation/operation.h"
#include "locks/sync/operation/synchronizer.h"
#include "redis/base/stats.h"

namespace holdfast::sync {

// How long a server that refuses to work for the moment is tried again.
enum class RefusalBudget {
  kCallers,  // the caller's time; briefly for a caller that does not wait
  kNone,     // not at all: the next round of a quorum tries again
};

// The permits that an acquire sets up where there is no counter, as StepOptions::setup: of a
// semaphore object, whose own methods change it.
using SetupPtr = std::shared_ptr<const std::atomic<std::int64_t>>;

// The arguments of a caller's acquire.
struct AcquireArguments {
  OwnerNumber owner;
  Lease lease{};
  bool blocking = true;
  Duration timeout = kNever - TimePoint{};
  std::uint64_t listener = 0;  // the receiver of a loss of the hold; 0: none
  bool again = false;          // not a further hold: sets the lease of the existing one again
  RefusalBudget refusal_budget = RefusalBudget::kCallers;
  // The lock made of locks that it is for: only that one's grant is counted, and the member's own
  // options are ignored. 0: for none.
  lease::WholeId whole = 0;
  bool block = false;  // the end of a `with` block releases it
  // The time of all exchanges of a call that has several; unset: its own, from its beginning on.
  std::optional<CallersTime> callers_time{};
  // How long to wait for a server that refuses connections; unset: that of CallersTime.
  std::optional<TimePoint> connect_deadline{};
  TimePoint latest = kNever;  // a member's: the latest moment of its caller
  Purpose purpose{};  // what it is for, for those who look at its holds; null: nothing is said
  // For a kind that is built on another one: its caller gets the server's reply as it is, of a
  // grant or an objection. Else null.
  std::shared_ptr<const Terms> terms{};
  // How many permits, all or none: the owner is the first one's; the numbers of the others follow.
  std::int64_t amount = 1;

  bool part() const { return whole != 0; }
  // A caller without time does not wait.
  bool waits() const {
    return blocking && (callers_time ? callers_time->waits() : is_wait(true, timeout));
  }
};

// The request for one acquisition of a synchronizer.
struct AcquireRequest : AcquireArguments {
  AcquireRequest(SynchronizerPtr of, const AcquireArguments& arguments)
      : AcquireArguments(arguments), synchronizer(std::move(of)) {
    if (!purpose && !part()) purpose = synchronizer->options.purpose;
  }

  const Recipe& recipe() const { return synchronizer->recipe; }
  const LockName& name() const { return synchronizer->name; }
  // A caller that does not wait takes no place in the server's queue.
  Millis queue_timeout() const { return waits() ? synchronizer->options.queue_timeout : Millis(0); }
  Millis at_least() const { return part() ? Millis(0) : synchronizer->options.at_least; }
  StepOptions step_options() const {
    StepOptions options{queue_timeout(), slot ? lease.time : Millis(0), amount};
    if (slot) options.request = slot->number;
    if (setup) options.setup = *setup;
    options.terms = terms.get();
    return options;
  }
  // The time of a request that began then.
  CallersTime time(TimePoint begun) const {
    return callers_time.value_or(CallersTime(blocking, timeout, begun)).within(latest);
  }
  // It is of a lock, whose owner must not use it meanwhile.
  bool excludes_owner() const { return recipe().holding != nullptr && !part(); }
  // It is of a lock or of permits, and not a repeated one: the figures of the client have it.
  bool counted() const { return recipe().taking != nullptr && !again; }
  SynchronizerPtr synchronizer;
  // The request to a counter, whose slot is the owner, and which the server remembers for `lease`.
  CounterRequestPtr slot{};
  SetupPtr setup{};
};

// Counts one acquisition in the figures of its client. Used with its operation's lock held; the
// request outlives it.
class AcquireStats {
 public:
  AcquireStats(Stats& stats, const AcquireRequest& request) : stats_(stats), request_(request) {}

  // It begins to wait; no effect when repeated.
  void waits() {
    if (waiting_ || !request_.counted()) return;
    waiting_ = true;
    stats_.add(Stats::Counter::kWaiting);
  }
  // One of the two, once: it is granted after `took`, or it ends otherwise.
  void granted(Duration took) {
    if (!request_.counted()) return;
    if (waiting_) stats_.add(Stats::Counter::kWaiting, -1);
    stats_.granted(waiting_, took, request_.amount);
    // Permits without an owner and an end are counted until they are given.
    if (!request_.recipe().grants_end()) stats_.add(Stats::Counter::kTaken, request_.amount);
  }
  void refused(Verdict verdict) {
    if (!request_.counted()) return;
    if (waiting_) stats_.add(Stats::Counter::kWaiting, -1);
    // A member of a lock made of locks: only its grant counts.
    if (!request_.part()) stats_.add(counter(verdict));
  }

  // The counter for this end of an acquisition.
  static Stats::Counter counter(Verdict verdict) {
    switch (verdict) {
      case Verdict::kGranted:
        return Stats::Counter::kAcquired;
      case Verdict::kBusy:
      case Verdict::kTimedOut:
        return Stats::Counter::kTimedOut;
      case Verdict::kCancelled:
        return Stats::Counter::kCancelled;
      case Verdict::kGone:
      case Verdict::kObjected:
      case Verdict::kExpired:
      case Verdict::kFailed:
        break;
    }
    return Stats::Counter::kFailed;
  }

 private:
  Stats& stats_;
  const AcquireRequest& request_;
  bool waiting_ = false;
};

// The machine's options for a request that began then.
AcquireMachine::Options machine_options(const AcquireRequest& request, const Context& context,
                                        TimePoint begun);

// How waiters for this name wait. A queue belongs to one channel: if two names share a channel,
// only the waiters of the first queue up.
Waiting waiting_for(const Recipe& recipe, const LockName& name);

}  // namespace holdfast::sync
