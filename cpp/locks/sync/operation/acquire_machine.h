#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "locks/sync/recipes/backoff.h"
#include "locks/sync/recipes/recipe.h"
#include "locks/wait/wait_registry.h"
#include "redis/base/clock.h"
#include "redis/base/status.h"

namespace holdfast::sync {

// The pause between attempts at a server that refuses to work for the moment.
inline constexpr Millis kRefusalBackoff{50};

// How an acquisition ended.
enum class Verdict {
  kGranted,
  kBusy,       // not blocking, and held by another owner
  kTimedOut,   // the deadline came first; `why` says if the server refused to work by then
  kGone,       // a reentrant attempt found the caller's earlier holds gone; `why` is the reason
  kExpired,    // the lease was over before the grant arrived
  kFailed,     // `why`
  kCancelled,  // by the caller
};

// The acquisition of anything that has an owner and a channel, as a machine: it reads no clock,
// opens no socket and owns no thread. Its driver feeds events and carries out each action,
// in order.
//
//   new ──begun──> trying ──held (join the queue)──> asleep ──signal, time──> trying
//    │               ├──granted──> [confirming ──>] keeping ──> over
//    │               └──gone, failed, (not blocking) held──> over
//    └──ahead (join the queue)──> asleep
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
    std::uint64_t seed = 0;                    // of StandBack
    bool confirms = false;                     // a grant counts once replicas have confirmed it
    Millis lease{0};                           // of the new hold; 0: no hold
    bool again = false;                        // not a further hold: the grant is never given back
    bool has_permits = false;                  // several owners may hold it at a time
    bool by_count = false;                     // what a refusal finds free is for other waiters
    bool yields = false;                       // it queues up behind earlier waiters
    bool sets_up = false;          // what the server has lost, the next attempt sets up again
    bool undone_for_good = false;  // after giving back, the next attempt is a new request
    TimePoint connect_deadline = kNever;  // of attempts before the deadline counts
    TimePoint latest = kNever;  // the end in any case, also of a confirmation (CallersTime)
  };

  struct Event {
    enum class Kind {
      kAhead,   // earlier waiters: of this client (`at` is kNever), of other clients until `at`;
                // `release_in_flight`: a release of this client is unanswered. `count`: the owner's
                // holds
      kBegun,   // the attempt: `count` holds with this one; it `takes_over` a pending release;
                // `probed`: the server has WAIT. The first event if the attempt has been sent
      kAnswer,  // `answer` to a command `sent` then; a grant is valid until `at`; `unknown`: to an
                // offer, which does not show the result of an earlier attempt
      kRefused,      // a temporary error: `why`; `unknown` as of kFailed
      kFailed,       // a final error: `why`; `unknown` when the attempt may have been executed
      kConfirmed,    // replicas have the grant; of a probe: the server has WAIT
      kForgotten,    // the server no longer has the grant: released by force, or lost in a failover
      kUnconfirmed,  // too few replicas have it, or WAIT failed for the moment: `why`
      kAskFailed,    // WAIT failed: `why`
      kKept,         // the grant is recorded; kFailed: it could not be
      kTryNow,       // the lock may be free: a message, a new subscription
      kHead,  // head of the queue since it joined, and no message came; `release_in_flight`: as of
              // kAhead
      kTurn,  // it is now the head of the queue; held until `at` at most (kNever: not the head yet)
      kOffer,  // an owner of this client hands over: its attempt for this waiter is under way
      kTime,   // `until` of the last kSleep has come; `why`: the caller's latest moment, too
      kCancel,
    };
    Kind kind = Kind::kAhead;
    Answer answer{};
    TimePoint at = kNever;
    Status why{};
    bool unknown = false;
    TimePoint sent{};
    int count = 0;
    bool release_in_flight = false;
    bool takes_over = false;
    bool probed = false;
    std::int64_t others = 0;  // of kAnswer: the other clients that wait, as far as is known

    static Event of(Kind kind, Status why, bool unknown = false) {
      return {kind, {}, kNever, std::move(why), unknown};
    }
  };

  struct Action {
    enum class Verb {
      kNone,      // go on waiting
      kTry,       // begin an attempt; kBegun or kFailed follows
      kProbe,     // whether the server has WAIT; kConfirmed, kUnconfirmed or kAskFailed follows
      kSend,      // the attempt; kAnswer, kRefused or kFailed follows
      kConfirm,   // have replicas confirm; kConfirmed, kForgotten, kUnconfirmed or kAskFailed
                  // follows
      kKeep,      // record the grant; kKept or kFailed follows
      kJoin,      // queue up at the channel; kTryNow, kHead, kTurn or kFailed follows
      kSleep,     // wait for the next event, kTime at `until` at the latest
      kFinish,    // over
      kGiveBack,  // after the end: release the grant, which its caller never gets
      kForward,   // after the end: this signal is for the remaining waiters
    };
    Verb verb = Verb::kNone;
    TimePoint until = kNever;  // of an end: when the next waiter is to try again, if known
    Verdict verdict = Verdict::kGranted;
    bool give_back = false;  // first: take back what attempts have left, or may still be granted
    Status why{};
    std::optional<std::int64_t> value{};  // the value of a grant

    int count = 0;                        // the holds with the grant; giving back leaves one less
    bool new_request = false;             // of kSleep: the next attempt is another request
    bool afresh = false;                  // of kJoin: ignore earlier events of the channel
    TimePoint connect_deadline = kNever;  // of kSend: with servers that refuse connections
    TimePoint sent{};                     // of kKeep: when the granted command was sent
    // At an end: leave the queue, for this reason. Unset: it was not joined.
    std::optional<wait::LeaveReason> leave{};

    // To be done before the verb, also after the end.
    bool settles = false;  // the answer settles the release that the attempt took over
    std::optional<std::int64_t>
        left_over{};       // free permits, too few for this waiter: for the others
    Millis overlong{0};    // report a lease of this length
    bool foreign = false;  // report that the key never expires
  };

  explicit AcquireMachine(const Options& options) : options_(options), stand_back_(options.seed) {}

  Action resume(const Event& event, TimePoint now);

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

  Action next(const Event& event, TimePoint now);
  Action after_end(const Event& event);
  void note(const Answer& answer, Action& action);
  Action queued(const Event& event, TimePoint now);
  Action notified(const Event& event, TimePoint now);
  TimePoint look_by(TimePoint at, TimePoint now) const;
  Action replied(const Event& event, TimePoint now);
  Action acknowledged(const Event& event, TimePoint now);
  Action ahead(const Event& event, TimePoint now);
  Action queue_up(TimePoint until);
  Action attempt();
  Action try_now();
  Action begun(const Event& event, TimePoint now);
  Action send() const;
  Action sleep();
  Action sleep_unless_signalled();
  Action answered(const Event& event, TimePoint now);
  Action granted(const Event& event, TimePoint now);
  Action confirmed(TimePoint now);
  Action unconfirmed(const Status& why, TimePoint now);
  Action kept(TimePoint now);
  Action held(const Event& event, TimePoint now);
  Action refused(const Status& why, TimePoint now);
  TimePoint refused_until() const;
  Action time(const Event& event, TimePoint now);
  Action time_of_replicas(const Status& late, TimePoint now);
  Action finish(Verdict verdict, Status why = {}, bool give_back = false);
  wait::LeaveReason leave_reason(Verdict verdict) const;
  bool has_place() const { return options_.in_line && contended_; }
  // Others go first, and it has not tried yet: the lock may be free.
  bool untried() const { return state_ == State::kAsleep && !contended_ && count_ == 0; }
  // Whether it awaits a confirmation, or whether the server has WAIT.
  bool awaits_replicas() const { return state_ == State::kConfirming || probing_; }
  // An attempt may have been granted, and the outcome is not known yet.
  bool open() const { return state_ == State::kTrying || state_ == State::kConfirming; }

  Options options_;
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
  bool minded_ = false;                  // the long lease has been reported
  Verdict verdict_ = Verdict::kGranted;  // of the end
  int count_ = 0;                        // the holds with the grant; 0 before the first attempt
  TimePoint begun_{};
  TimePoint retry_at_ = kNever;
  StandBack stand_back_;
  TimePoint refused_since_ = kNever;
  Status refusal_;
  Answer grant_;  // to be confirmed and recorded; sent at sent_, valid until trusted_until_
  TimePoint sent_{};
  TimePoint trusted_until_ = kNever;
};

}  // namespace holdfast::sync
