#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/status.h"
#include "sync/backoff.h"
#include "sync/recipe.h"
#include "wait/wait_registry.h"

namespace holdfast::sync {

// How an acquisition ended.
enum class Verdict {
  kGranted,
  kBusy,       // not blocking, and held by another
  kTimedOut,   // the deadline came first; `why` says if the server refused to work by then
  kGone,       // a reentrant attempt found the caller's earlier holds gone
  kExpired,    // the lease was over before the grant arrived
  kFailed,     // `why`
  kCancelled,  // by the caller
};

// The acquisition of anything that has an owner and a channel, as a machine: it reads no clock,
// opens no socket and owns no thread. Its driver feeds events and carries out each action,
// in order.
//
//   new ──start──> trying ──held──> joining ──turn──> asleep ──signal, time──> trying
//                    │                  └────signal────────────────────────────┘
//                    └─granted, gone, failed, (not blocking) held──> over
//
// Where replicas have to confirm a grant, it goes from trying to confirming instead, and from there
// to over, or, when they have not, gives the grant back and falls asleep. The last step before a
// grant is over is to record it, which a client that is being closed refuses.
//
// The caller's deadline counts from the first reply of the server on (before that, it is unknown
// whether another owner holds the lock), or in the queue behind another waiter of this client.
// A server that refuses to work for the moment (LOADING, READONLY, ...) has answered: it is asked
// again until the deadline, and where there is none until the refusal budget is spent.
class AcquireMachine {
 public:
  struct Options {
    bool blocking = true;
    TimePoint deadline = kNever;
    Millis refusal_budget{
        5000};             // how long a server may go on refusing to work where no deadline counts
    bool in_line = false;  // a vain attempt leaves a place behind, to be given back
    std::optional<BackoffSequence> backoff{};  // between attempts, where no message comes
    bool confirms = false;                     // a grant counts once replicas have confirmed it
    Millis lease{0};                           // of the hold that a grant makes; 0: it makes none
    bool again = false;                        // no hold more: what is granted is not given back
    bool has_permits = false;                  // several owners may have it at a time
    bool by_count = false;                     // a refusal says how many permits are free
  };

  struct Event {
    enum class Kind {
      kStart,
      kQueueUp,  // start, behind others: of this client, or of other clients until `at`
      kAnswer,   // `answer`; when granted, it may be trusted until `at`
      kRefused,  // an error that passes by itself: `why`; `unknown` as of kFailed
      kFailed,   // an error that does not: `why`; `unknown` when the attempt may have been executed
      kConfirmed,    // the grant, by replicas
      kForgotten,    // the grant, by the server: released by force, or lost in a failover
      kUnconfirmed,  // by too few of them: `why`
      kKept,         // the grant is recorded; kFailed: it could not be
      kTryNow,       // something may have happened: a message, a new subscription
      kTurn,   // the head of the queue now; held until `at` at most (kNever: not the head yet)
      kOffer,  // the holder, of this client, hands over: an attempt under way that it makes for us
      kTime,   // `until` of the last kSleep has come
      kCancel,
    };
    Kind kind = Kind::kStart;
    Answer answer{};
    TimePoint at = kNever;
    Status why{};
    bool unknown = false;
  };

  struct Action {
    enum class Verb {
      kNone,      // go on waiting for what is waited for
      kTry,       // send the attempt; kAnswer, kRefused or kFailed follows
      kConfirm,   // ask replicas; kConfirmed, kUnconfirmed or kFailed follows
      kKeep,      // record the grant, with `value`; kKept or kFailed follows
      kJoin,      // queue up at the channel; kTryNow or kTurn follows
      kSleep,     // wait for the next event, kTime at `until` at the latest
      kFinish,    // over
      kGiveBack,  // after the end: release the grant, of which its caller will never know
      kForward,   // after the end: this signal is for the remaining waiters
    };
    Verb verb = Verb::kNone;
    TimePoint until = kNever;  // of an end: when the next in line is to look again, if it is known
    Verdict verdict = Verdict::kGranted;
    bool give_back = false;  // first of all: what attempts have left behind, or may yet be granted
    Status why{};
    std::optional<std::int64_t> value{};  // what a grant brings
    // Of an end: leave the queue, for this reason. Nothing: it was not joined.
    std::optional<wait::LeaveReason> leave{};
    // Before the verb, in every state: too few permits for this waiter, for the others to share.
    std::optional<std::int64_t> left_over{};
    Millis overlong{0};  // before the verb, in every state: report that it is held for so long
  };

  explicit AcquireMachine(const Options& options) : options_(options) {}

  Action resume(const Event& event, TimePoint now);

  bool over() const { return state_ == State::kOver; }
  bool joined() const { return joined_; }
  // It is over, and an attempt, or something that happened, has not been answered, or there is more
  // than was taken: the next in line may find it free, and kTrying is why it leaves.
  bool unsettled() const { return unsettled_; }
  // Asleep in the queue: an offer will be taken.
  bool open_to_offers() const { return joined_ && state_ == State::kAsleep && !signalled_; }
  TimePoint retry_at() const { return retry_at_; }

 private:
  enum class State { kNew, kTrying, kConfirming, kKeeping, kAsleep, kOver };

  Action next(const Event& event, TimePoint now);
  Action late(const Event& event);
  void note(const Answer& answer, Action& action);
  Action told(const Event& event);
  Action replied(const Event& event, TimePoint now);
  Action queue_up(TimePoint until);
  Action attempt();
  Action sleep();
  Action answered(const Event& event, TimePoint now);
  Action granted(const Event& event, TimePoint now);
  Action confirmed(TimePoint now);
  Action unconfirmed(const Status& why, TimePoint now);
  Action kept(TimePoint now);
  Action held(Millis ttl, TimePoint now);
  Action refused(const Status& why, TimePoint now);
  TimePoint refused_until() const;
  Action time(TimePoint now);
  Action finish(Verdict verdict, Status why = {}, bool give_back = false);
  wait::LeaveReason leave_reason(Verdict verdict) const;
  bool has_place() const { return options_.in_line && told_; }
  // It has been granted, or may have been, and the outcome is not known yet.
  bool open() const { return state_ == State::kTrying || state_ == State::kConfirming; }

  Options options_;
  State state_ = State::kNew;
  bool joined_ = false;
  bool told_ = false;       // the server, or the queue, has said that it is held by another
  bool signalled_ = false;  // during the attempt under way
  bool unsettled_ = false;
  bool given_back_ = false;              // the grant, after the end
  bool minded_ = false;                  // that it is held for long has been reported
  Verdict verdict_ = Verdict::kGranted;  // of the end
  bool in_doubt_ = false;  // an attempt that was refused may have been executed before
  TimePoint retry_at_ = kNever;
  TimePoint refused_since_ = kNever;
  Status refusal_;
  Answer grant_;  // to be confirmed and recorded, and trusted until then
  TimePoint trusted_until_ = kNever;
};

}  // namespace holdfast::sync
