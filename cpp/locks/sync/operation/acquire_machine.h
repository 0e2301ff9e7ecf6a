#pragma once

#include <cstdint>
#include <optional>

#include "locks/sync/recipes/backoff.h"
#include "locks/sync/recipes/recipe.h"
#include "locks/wait/wait_registry.h"
#include "redis/base/clock.h"
#include "redis/base/status.h"

namespace holdfast::sync {

struct Acknowledgement;

// The pause between attempts at a server that refuses to work for the moment.
inline constexpr Millis kRefusalBackoff{50};

// How an acquisition ended.
enum class Verdict {
  kGranted,
  kBusy,       // not blocking, and held by another owner
  kTimedOut,   // the deadline came first; `why` says if the server refused to work by then
  kGone,       // a reentrant attempt found the caller's earlier holds gone; `why` is the reason
  kObjected,   // its terms are not the server's; the reply says to what it objects
  kExpired,    // the lease was over before the grant arrived
  kFailed,     // `why`
  kCancelled,  // by the caller
};

// How an operation ended: for an acquisition the verdict says how; for a call kGranted means that
// it was done, with the server's answer in `value` (nothing: nil).
struct Outcome {
  Verdict verdict = Verdict::kGranted;
  Status why{};
  std::optional<std::int64_t> value{};
};

// The acquisition of anything that has an owner and a channel, as a machine: it reads no clock,
// opens no socket and owns no thread. It takes events, each with its moment, and has its driver do
// what follows from them.
//
//   new ──sent──> trying ──held (join the queue)──> asleep ──signal, time──> trying
//    │              ├──granted──> [confirming ──>] keeping ──> over
//    │              └──gone, failed, (not blocking) held──> over
//    └──start (others are ahead: join the queue)──> asleep
// The first event says either that the first attempt has been sent, or which waiters are ahead of
// it in the queue: if there are any, it joins at once. If replicas have to confirm a grant, the
// first attempt follows a probe of the server, and a grant goes from trying to confirming: without
// confirmation the machine gives the grant back and falls asleep. While it is keeping, the grant is
// recorded, which a closing client refuses.
//
// All callers and kinds share it, so that the simulation (tests/cpp/simulation) can run the one
// algorithm through many thousands of random schedules, and repeat each by its seed.
//
// The caller's deadline counts from the first reply of the server on (before that, it is unknown
// whether another owner holds the lock), or in the queue behind another waiter of this client.
// Until then the driver's requests end at `latest`, and so does a confirmation by replicas.
// A server that refuses to work for the moment (LOADING, READONLY, ...) has answered: it is tried
// again until the deadline, or without one until the refusal budget is spent: an endless wait would
// hide a wrong URL.
class AcquireMachine {
 public:
  struct Options {
    bool blocking = true;
    TimePoint deadline = kNever;
    Millis refusal_budget{5000};  // how long a server may refuse to work without a deadline
    bool in_line = false;  // a refused attempt gets a place in the server's queue, to be given back
    std::optional<BackoffSequence> backoff{};  // between attempts, for kinds without messages
    std::uint64_t seed = 0;                    // StandBack's
    bool confirms = false;                     // a grant counts once replicas have confirmed it
    Millis lease{0};                           // the new hold's; 0: no hold
    bool has_permits = false;                  // several owners may hold it at a time
    bool yields = false;                       // it queues up behind earlier waiters
    bool sets_up = false;          // what the server has lost, the next attempt sets up again
    bool undone_for_good = false;  // after giving back, the next attempt is a new request
    TimePoint connect_deadline =
        kNever;  // until when refused connections are tried again, before the deadline counts
    TimePoint latest = kNever;  // the end in any case, also of a confirmation (CallersTime)
  };

  // The waiters ahead of a newcomer.
  struct Ahead {
    TimePoint until{};  // kNever: some of this client are; else others go first until then
    bool release_in_flight = false;  // a release of this client is unanswered
    bool nested = false;             // the owner has holds: it goes past all of them
  };
  // The answer to an attempt.
  struct Response {
    Answer answer{};
    TimePoint trusted_until = kNever;  // a grant's
    TimePoint sent{};                  // the epoch: an offer that may not have been sent
    std::int64_t others = 0;           // the other clients that wait, as far as is known
    bool to_offer = false;  // an offer: it does not show whether an earlier attempt was granted
  };
  // An attempt that may be sent.
  struct Begun {
    int count = 0;            // the owner's holds with its grant
    bool takes_over = false;  // a pending release of the owner's
    bool probed = false;      // the server is known to have WAIT
  };
  struct Place {
    wait::WaitRegistry::Place where = wait::WaitRegistry::Place::kHead;
    bool release_in_flight = false;  // as of Ahead
  };
  // Work that an end leaves to others.
  struct Rest {
    // Attempts may have been granted, or have a place in line: to be taken back, until this
    // many holds are left.
    std::optional<int> take_back{};
    // Why it leaves the queue; unset: it has not joined.
    std::optional<wait::LeaveReason> leave{};
    TimePoint retry_at = kNever;  // when the next waiter is to try again, if known
  };

  // The calls of a machine, in order, while it handles an event: no further event may come from
  // here. A failure of one of these ends the acquisition.
  class Driver {
   public:
    virtual ~Driver() = default;
    // The attempt is to be answered by `until`.
    virtual Result<Begun> begin_attempt(TimePoint until) = 0;
    // It asks for that many holds. answered(), refused() or failed() follows. `connect_deadline`:
    // with servers that refuse connections.
    virtual Status send(int count, TimePoint connect_deadline) = 0;
    // Whether the server has WAIT; has replicas confirm the grant. acknowledged() follows.
    virtual Status probe() = 0;
    virtual Status confirm() = 0;
    // The grant is recorded.
    virtual Status keep(const Response& grant, int count) = 0;
    // `afresh`: what has happened at its channel before is no reason to try.
    virtual Result<Place> join(bool afresh) = 0;
    // Until the next event; time_is_up() comes then at the latest.
    virtual void sleep_until(TimePoint until) = 0;
    // The grant of an attempt is taken back. `anew`: the next one is another request.
    virtual void take_back(int remaining, bool anew) = 0;
    // The server's answer settles the release that the attempt took over; also after the end.
    virtual void settled() = 0;
    // A refusal says that the key never expires, or that it lasts suspiciously long.
    virtual void report(const Answer& refusal) = 0;
    virtual void finish(Outcome outcome, const Rest& rest) = 0;
    // After the end: the caller never gets the grant; the signal is for the remaining waiters.
    virtual void give_back() = 0;
    virtual void pass_on() = 0;
  };

  // The driver outlives it.
  AcquireMachine(const Options& options, Driver& driver)
      : options_(options), driver_(driver), stand_back_(options.seed) {}

  // ---- The first event
  void start(TimePoint now, const Ahead& ahead);
  void sent(const Begun& begun);  // the attempt is on its way already, or answered

  // ---- Later ones
  void answered(TimePoint now, const Response& response);
  // By a temporary error. `unknown`, here and below: an attempt may have been executed.
  void refused(TimePoint now, const Status& why, bool unknown);
  void failed(TimePoint now, const Status& why, bool unknown);
  void acknowledged(TimePoint now, const Acknowledgement& outcome);
  // The lock may be free: a message, a new subscription.
  void signal(TimePoint now);
  // It is the head of the queue now; held until `held_until` at most (kNever: it is not known).
  void turn(TimePoint now, TimePoint held_until);
  // An owner of this client, which finds it open_to_offers(), hands over: an attempt for this
  // waiter is under way.
  void offer(bool takes_over);
  // `late`: the error where the caller's latest moment has come.
  void time_is_up(TimePoint now, const Status& late);
  void cancel(TimePoint now);

  bool yields() const { return options_.yields; }
  bool over() const { return state_ == State::kOver; }
  bool joined() const { return joined_; }
  // It has ended with an unanswered attempt, after an event that it has not acted on, or with
  // permits left: the next waiter may find it free. Its reason to leave is kTrying.
  bool unsettled() const { return unsettled_; }
  // In the queue, and no attempt is under way.
  bool asleep() const { return joined_ && state_ == State::kAsleep; }
  // It sleeps and does not stand back: a message is awaited.
  bool listens() const { return asleep() && !stand_back_.under_way(); }
  bool open_to_offers() const { return asleep() && !signalled_; }

 private:
  enum class State { kNew, kTrying, kConfirming, kKeeping, kAsleep, kOver };

  void attempt(bool woken = false);
  void send();
  void asked(const Status& closed);
  void confirmed(TimePoint now);
  void held(TimePoint now, const Response& response);
  bool overlong(TimePoint now, Millis ttl) const;
  void join(bool afresh = false);
  void back_off(TimePoint now, const Status& why, bool take_back);
  void sleep();
  void sleep_unless_signalled();
  void signal_after_end();
  void finish(Verdict verdict, Status why = {}, bool take_back = false);
  // No message says that the server has lost the counter.
  TimePoint look_by(TimePoint at, TimePoint now) const;
  // An attempt may have been granted, and the outcome is not known yet.
  bool open() const { return state_ == State::kTrying || state_ == State::kConfirming; }

  Options options_;
  Driver& driver_;
  State state_ = State::kNew;
  bool joined_ = false;
  bool contended_ = false;   // the server, or the queue, has shown that another owner holds it
  bool signalled_ = false;   // during the attempt under way, or while it stands back
  bool woken_ = false;       // the attempt under way follows a signal
  bool held_back_ = false;   // queued because of an unanswered release of this client
  bool probing_ = false;     // the attempt is sent after the probe
  bool in_doubt_ = false;    // a refused attempt may have been executed by an earlier sending
  bool takes_over_ = false;  // a release of the owner, until the server answers
  bool unsettled_ = false;
  bool given_back_ = false;              // the grant, after the end
  bool reported_ = false;                // Driver::report(), which comes once
  Verdict verdict_ = Verdict::kGranted;  // how it ends
  int count_ = 0;                        // the holds with the grant; 0 before the first attempt
  TimePoint retry_at_ = kNever;
  StandBack stand_back_;
  TimePoint refused_since_ = kNever;
  Status refusal_;
  Response grant_;  // to be confirmed and recorded
};

}  // namespace holdfast::sync
