#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "sync/backoff.h"
#include "sync/recipe.h"
#include "wait/wait_registry.h"

namespace holdfast::sync {

// How long a caller waits for a server that refuses connections to come back: without a deadline
// as long as for one that is silent, else until the deadline, but for a moment at least, in which
// one restarts.
TimePoint patience_of(bool blocking, TimePoint deadline, TimePoint now);

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
// In a queue, a newcomer first looks whether others go before it, and joins at once if so. Where
// replicas have to confirm a grant, the first attempt follows a probe of the server, and a grant
// goes from trying to confirming, and from there to over, or, when they have not, gives the grant
// back and falls asleep. The last step before a grant is over is to record it, which a client that
// is being closed refuses.
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
    bool yields = false;                       // a newcomer looks who goes first: kLook
    bool undone_for_good = false;              // what was given back is asked for by a new request
    std::optional<TimePoint> patience{};       // of the first attempt; unset: patience_of() it
  };

  struct Event {
    enum class Kind {
      kStart,
      kAhead,   // who goes first: others of this client (`at` is kNever), other clients until `at`;
                // `owed`: a release of this client is unanswered. `count`: the owner's holds
      kBegun,   // the attempt: `count` holds with this one; it `takes_over` a pending release;
                // `probed`: replicas can be asked. The first event where the attempt has been sent
      kAnswer,  // `answer`, of a command `sent` then; when granted, it may be trusted until `at`;
                // `unknown`: to an offer, which does not tell what an earlier attempt did
      kUnknownScript,  // the server does not have it: `why`; `unknown` as of kFailed
      kRefused,        // an error that passes by itself: `why`; `unknown` as of kFailed
      kFailed,  // an error that does not: `why`; `unknown` when the attempt may have been executed
      kConfirmed,    // the grant, by replicas; or that they can be asked
      kForgotten,    // the grant, by the server: released by force, or lost in a failover
      kUnconfirmed,  // by too few of them, or they cannot be asked for now: `why`
      kAskFailed,    // asking them: `why`
      kKept,         // the grant is recorded; kFailed: it could not be
      kTryNow,       // something may have happened: a message, a new subscription
      kHead,         // of the queue since it was joined, and nothing has happened
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
    TimePoint sent{};
    int count = 0;
    bool owed = false;
    bool takes_over = false;
    bool probed = false;

    static Event of(Kind kind, Status why, bool unknown = false) {
      return {kind, {}, kNever, std::move(why), unknown};
    }
  };

  struct Action {
    enum class Verb {
      kNone,      // go on waiting for what is waited for
      kLook,      // who goes first in the queue; kAhead follows
      kTry,       // begin an attempt; kBegun or kFailed follows
      kProbe,     // whether replicas can be asked; kConfirmed, kUnconfirmed or kAskFailed follows
      kSend,      // the attempt; kAnswer, kUnknownScript, kRefused or kFailed follows
      kConfirm,   // ask replicas; kConfirmed, kForgotten, kUnconfirmed or kAskFailed follows
      kKeep,      // record the grant; kKept or kFailed follows
      kJoin,      // queue up at the channel; kTryNow, kHead, kTurn or kFailed follows
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

    int count = 0;             // the holds that a grant makes; one less are left by what gives back
    bool new_request = false;  // of kSleep: the next attempt is another request
    bool by_text = false;      // of kSend: with the text of the script
    bool preload = false;      // of kSend: load the scripts, too
    bool afresh = false;       // of kJoin: what was seen of the channel before does not count
    TimePoint patience = kNever;  // of kSend: with servers that refuse connections
    TimePoint sent{};             // of kKeep: when the command that was granted was sent
    // Of an end: leave the queue, for this reason. Nothing: it was not joined.
    std::optional<wait::LeaveReason> leave{};

    // Before the verb, and after the end, too.
    bool settles = false;  // the release that the attempt took over is settled by its answer
    std::optional<std::int64_t> left_over{};  // permits too few for this waiter: for the others
    Millis overlong{0};                       // report that it is held for so long
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

 private:
  enum class State { kNew, kTrying, kConfirming, kKeeping, kAsleep, kOver };

  Action next(const Event& event, TimePoint now);
  Action late(const Event& event);
  void note(const Answer& answer, Action& action);
  Action queued(const Event& event, TimePoint now);
  Action told(const Event& event);
  Action replied(const Event& event, TimePoint now);
  Action acknowledged(const Event& event, TimePoint now);
  Action ahead(const Event& event, TimePoint now);
  Action queue_up(TimePoint until);
  Action attempt();
  Action begun(const Event& event, TimePoint now);
  Action send() const;
  Action send_text(const Event& event);
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
  bool told_ = false;        // the server, or the queue, has said that it is held by another
  bool signalled_ = false;   // during the attempt under way
  bool held_back_ = false;   // in the queue by an answer that is owed to this client
  bool probing_ = false;     // the attempt under way is still to be sent
  bool by_text_ = false;     // the server has not answered since it did not know the script
  bool in_doubt_ = false;    // an attempt that was refused may have been executed before
  bool takes_over_ = false;  // a release of the owner's, until the server answers
  bool unsettled_ = false;
  bool given_back_ = false;              // the grant, after the end
  bool minded_ = false;                  // that it is held for long has been reported
  Verdict verdict_ = Verdict::kGranted;  // of the end
  int count_ = 0;                        // the holds that a grant makes; 0 before the first attempt
  TimePoint begun_{};
  TimePoint retry_at_ = kNever;
  TimePoint refused_since_ = kNever;
  Status refusal_;
  Answer grant_;  // to be confirmed and recorded, sent then, and trusted until then
  TimePoint sent_{};
  TimePoint trusted_until_ = kNever;
};

}  // namespace holdfast::sync
