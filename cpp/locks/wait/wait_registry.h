#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/base/status.h"

namespace holdfast::wait {

// How the waiters of a lock are notified that it may be free.
enum class Waiting {
  kInTurn,    // one channel; of a client's waiters only the head of the queue is woken
  kTogether,  // one channel; all of a client's waiters are, or, if they want permits, the first
              // ones for which the number in the message is enough
  kInLine,    // the server keeps the queue: each waiter has a channel, and a place to give up
  kBackOff,   // not at all: each polls. Other kinds may subscribe to the channel, as kInTurn
};

class NextWaiter;  // defined in the layer above: locks/sync/operation/hold_release.h

// A waiter of this client for a channel. Called on any thread, without the registry's lock.
class Waiter {
 public:
  virtual ~Waiter() = default;
  // The lock may be free: try. Called for the head of a queue only.
  virtual void on_signal() = 0;
  // on_signal() by a message that is newer than `since`.
  virtual void on_message(std::string_view /*payload*/) { on_signal(); }
  // You are the head now; as far as is known the lock is held until `retry_at` at the latest.
  virtual void on_turn(TimePoint retry_at) = 0;
  // No message can arrive.
  virtual void on_failure(const Status& why) = 0;
  // As the one to which a release hands a lock over; null: it cannot be.
  virtual std::shared_ptr<NextWaiter> next_waiter() { return nullptr; }

  // To be set before join(): when it began to wait, if a message means more to it than that it may
  // try: older ones do not.
  TimePoint since = TimePoint::min();
  // To be set before join(): the permits that it needs; 0: whatever is free is enough. With
  // Waiting::kTogether it is not woken for fewer. In a queue, newcomers that need fewer do not
  // hold back behind it, and what is too little for the head is for those behind it.
  std::int64_t wants = 0;
};
using WaiterPtr = std::shared_ptr<Waiter>;

// The waiters to notify, once the caller has released its locks.
class [[nodiscard]] Calls {
 public:
  void signal(WaiterPtr waiter) {
    calls_.emplace_back([waiter = std::move(waiter)] { waiter->on_signal(); });
  }
  void message(WaiterPtr waiter, std::string_view payload) {
    calls_.emplace_back([waiter = std::move(waiter), payload = std::string(payload)] {
      waiter->on_message(payload);
    });
  }
  void turn(WaiterPtr waiter, TimePoint at) {
    calls_.emplace_back([waiter = std::move(waiter), at] { waiter->on_turn(at); });
  }
  void fail(WaiterPtr waiter, Status why) {
    calls_.emplace_back(
        [waiter = std::move(waiter), why = std::move(why)] { waiter->on_failure(why); });
  }
  void append(Calls more);
  void run() {
    for (const auto& call : calls_) call();
    calls_.clear();
  }

 private:
  std::vector<std::function<void()>> calls_;
};

// Where the registry's subscriptions are made. Called with the registry's lock held: must not call
// back.
class Subscriptions {
 public:
  virtual ~Subscriptions() = default;
  virtual void subscribe(const std::string& channel) = 0;  // a second time: not fresh
  // Asks released() after `linger`, on another stack.
  virtual void release(const std::string& channel, Duration linger) = 0;
  // A message of the channel is about to come, and has waiters.
  virtual void expect(const std::string& channel) = 0;
};

// Why a waiter leaves its queue.
enum class LeaveReason {
  kGranted,  // it has what it waited for
  kGaveUp,   // while it was asleep
  kTrying,   // while an attempt was under way, or a signal not yet acted upon
};

// The waiters of one client: a queue for each channel, of which only the head tries, so the number
// of commands for an acquisition does not grow with the waiters. A subscription lingers for 100 ms,
// so a busy lock is not subscribed to again and again. It does no I/O and reads no clock.
// Thread-safe; its lock is a leaf but for Subscriptions'.
//
// No wake-up is missed: a channel has a sequence that grows with every message and every confirmed
// subscription. A waiter that read it before a failed attempt may sleep only while it is unchanged.
class WaitRegistry {
 public:
  explicit WaitRegistry(Subscriptions& subscriptions) : subscriptions_(subscriptions) {}

  // The sequence of a channel that is subscribed to; nullopt when it is not.
  std::optional<std::uint64_t> sequence(const std::string& channel) const;

  // Until when a newcomer that needs `wants` permits holds back: kNever behind others of this
  // client that need no more; until a moment in the future where it is the turn of other clients
  // (see published()); else a moment in the past.
  TimePoint holds_back(const std::string& channel, std::int64_t wants = 0) const;

  // The other clients that wait, by the last published(); 0: this client has released nothing
  // lately.
  std::int64_t others(const std::string& channel) const;

  // For any channel, more than that; for this one.
  bool has_waiters(std::size_t besides) const;
  bool has_waiters(const std::string& channel) const;

  // No other of this client waits for it, or did just now, nor would a newcomer hold back.
  bool idle(const std::string& channel, TimePoint now) const;
  bool idle() const { return idle_; }  // idle() for all channels

  // This client has just released, and `subscribers` received the message. If some are of other
  // clients, one of them goes first: otherwise the releasing client would always be the quickest to
  // acquire again.
  Calls published(const std::string& channel, std::int64_t subscribers, TimePoint now);

  // A release of this client is on its way, and its caller does not wait for the answer. True: by
  // what the last answer said, others wait, too, so newcomers hold back until published() and
  // release_answered().
  bool release_begins(const std::string& channel);
  // Whether a newcomer is to hold back: join() follows, and then another look.
  bool release_in_flight(const std::string& channel) const;
  // That release is over, or is pending.
  Calls release_answered(const std::string& channel);

  // Takes a place at the end of the queue (kTogether: beside it, as another head), subscribing
  // unless that has been done; kBackOff: no place, it is only notified when the client is closed.
  // `seen`: the sequence before the waiter's last attempt, if it made one. What the newcomer should
  // do follows:
  enum class Place {
    // It is the head, or needs fewer permits than all ahead of it, and
    kTryNow,  // something may have happened since its attempt
    kHead,    // nothing has: sleep until a call, or until the holder's lease ends
    kQueued,  // it is neither: sleep until a call
  };
  Place join(const std::string& channel, WaiterPtr waiter, std::optional<std::uint64_t> seen,
             Waiting waiting = Waiting::kInTurn);

  // The reply to an attempt that needs more: `permits` are free.
  Calls left_over(const std::string& channel, std::int64_t permits);

  // A signal for `leaver` arrived after it had left: it is for the remaining waiters.
  Calls not_for(const std::string& channel, const Waiter& leaver);

  // Leaves the queue. `retry_at`: until when it is held at most, as far as the leaver knows.
  Calls leave(const std::string& channel, const Waiter& waiter, LeaveReason why,
              TimePoint retry_at);

  // The head of the queue, for a hand-over within this client; null when there is none or when it
  // is the others' turn: after 16 hand-overs in a row, or 10 ms of them (a bound on how long this
  // client may keep a lock among its own; Dice, Marathe, Shavit, "Lock Cohorting", 2012). From then
  // until published(), a message is no reason for this client's head to hurry.
  WaiterPtr next_waiter(const std::string& channel, TimePoint now);

  // A release of this client is about to publish: its waiters need a reader.
  void expect(const std::string& channel);

  // The reports of the subscriber.
  Calls subscribed(const std::string& channel, TimePoint requested = TimePoint::min(),
                   bool fresh = true);
  Calls message(const std::string& channel, std::string_view payload = {});
  Calls refused(const std::string& channel, const Status& why);
  Calls unreachable(const std::string& channel, const Status& why);
  Calls closed(const Status& why);  // all waiters
  bool released(const std::string& channel);

 private:
  struct Queue {
    bool subscribed = false;
    TimePoint requested = TimePoint::min();  // messages are newer than that
    std::uint64_t sequence = 0;
    std::deque<WaiterPtr> waiters;    // in turn
    std::vector<WaiterPtr> together;  // all of them heads
    std::int64_t others = 0;          // subscribers of other clients, by published()
    int handovers = 0;                // in a row
    TimePoint first_handover{};
    TimePoint fairness_yield{};  // the head lets others go first until then; the epoch: it does not

    std::size_t size() const { return waiters.size() + together.size(); }
    bool empty() const { return size() == 0; }
    bool remove(const Waiter& waiter);
    // It may be free, for however many. Those together first: readers do not exclude each other,
    // the writer behind them does.
    void notify(Calls& calls) const;
    void notify(Calls& calls, std::string_view payload) const;
    void notify_head(Calls& calls) const;
    // Notifies those together, in order, as far as the permits go; returns what is left.
    std::int64_t share(Calls& calls, std::int64_t permits, std::string_view payload = {}) const;
    // The permits of a leaver's message may still be free.
    void pass_on(Calls& calls, const Waiter& leaver, LeaveReason why) const;
    // Lets go the waiters that held back behind a leaver that needed `permits`, and that need fewer
    // than all ahead: now they wait as a head does.
    void let_go(Calls& calls, std::int64_t permits, LeaveReason why, TimePoint retry_at) const;
    void fail(Calls& calls, const Status& why) const;
  };

  using Queues = std::unordered_map<std::string, Queue>;

  // One of queues_, releases_in_flight_ and fairness_yields_ has changed.
  void note_idle() HOLDFAST_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Subscriptions& subscriptions_;
  Queues queues_ HOLDFAST_GUARDED_BY(mutex_);
  std::unordered_map<const Waiter*, std::uint64_t> apart_ HOLDFAST_GUARDED_BY(mutex_);
  std::map<std::uint64_t, WaiterPtr> apart_in_order_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t came_apart_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, int> releases_in_flight_
      HOLDFAST_GUARDED_BY(mutex_);  // answers to releases, where others wait
  std::unordered_map<std::string, TimePoint> fairness_yields_
      HOLDFAST_GUARDED_BY(mutex_);  // the turns of others, and how long they last
  SharedAtomic<bool> idle_{true};   // nothing is in any of these three; read without the lock
};

}  // namespace holdfast::wait
