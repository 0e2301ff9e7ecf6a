#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sync/acquire_stats.h"
#include "sync/operation.h"
#include "sync/pending_release.h"

namespace holdfast::sync {

// How long a server that refuses to work for the moment is asked again.
enum class RefusalBudget {
  kCallers,  // the time of a caller who waits, briefly for one who does not
  kNone,     // the attempt is one of a round, and the next round asks again
};

// What a caller asks for.
struct AcquireRequest {
  LockName name;
  OwnerNumber owner;
  Lease lease;
  bool blocking = true;
  TimePoint deadline = kNever;
  std::uint64_t listener = 0;  // who is to be told when the hold is lost
  AcquireOptions acquire_options{};
  bool again = false;  // no hold more: the lease of the one that is held counts from now on
  RefusalBudget refusal_budget = RefusalBudget::kCallers;
  bool part = false;  // of a lock made of locks: only its grant is counted
  // Until when a server that refuses connections is waited for; unset: patience_of() the caller.
  std::optional<TimePoint> patience{};
};

// How long a caller waits for a server that refuses connections to come back: without a deadline
// as long as for one that is silent, else until the deadline, but for a moment at least, in which
// one restarts.
TimePoint patience_of(bool blocking, TimePoint deadline, TimePoint now);

// An acquisition: carries out the machine's actions. A grant is recorded with the keeper before it
// is reported.
class AcquireOperation final : public Operation, public wait::Waiter, public AckListener {
 public:
  AcquireOperation(std::shared_ptr<const Context> context, const Recipe& recipe,
                   AcquireRequest request);

  // A first attempt was begun then, and sent, by the calling thread itself: see PlainLock.
  void adopt(TimePoint begun);
  void cancel() override;
  About about() override { return {recipe_.kind(), request_.owner}; }

  // The holder hands its lock over, with a command whose answer follows by offer_answered(),
  // offer_in_doubt() or on_failure(). False when the offer is not wanted any more; else `send` is
  // called, with this operation's lock held: a release, should this operation give up, stands
  // behind the command.
  bool accept_offer(const std::function<void()>& send);
  void offer_answered(const Answer& answer, const client::Sent& sent);
  // The command was refused when it was sent again: an earlier sending may have been executed.
  void offer_in_doubt(const Status& why);
  std::string owner_field() const { return field(owner_); }
  Millis lease_time() const { return request_.lease.time; }
  const Recipe& recipe() const { return recipe_; }

  void encode(std::string& out) const override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;
  TimePoint since() const override;
  std::int64_t wants() const override;
  void on_signal() override;
  void on_message(std::string_view payload) override;
  void on_turn(TimePoint retry_at) override;
  void on_failure(const Status& why) override;
  std::string_view granted_key() const override { return key(); }
  void write_again(std::string& out, bool by_text) const override;
  Millis longest_wait() const override;
  void confirmed(Acknowledgement outcome) override;

 private:
  using Machine = AcquireMachine;
  using Event = AcquireMachine::Event;

  void begin() override;
  void time_is_up(TimePoint now) override;

  void deliver(Event event) HOLDFAST_EXCLUDES(mutex_);
  std::optional<Event> perform(const Machine::Action& action, wait::Calls& calls)
      HOLDFAST_REQUIRES(mutex_);
  void tell(const Machine::Action& action, wait::Calls& calls) HOLDFAST_REQUIRES(mutex_);
  void sleep(const Machine::Action& action) HOLDFAST_REQUIRES(mutex_);
  std::optional<Event> attempt(const Machine::Action& action) HOLDFAST_REQUIRES(mutex_);
  std::optional<Event> join() HOLDFAST_REQUIRES(mutex_);
  std::optional<Event> confirm() HOLDFAST_REQUIRES(mutex_);
  TimePoint first_patience() const;
  Status begin_attempt() HOLDFAST_REQUIRES(mutex_);
  Status send() HOLDFAST_REQUIRES(mutex_);
  void conclude(const Machine::Action& action, wait::Calls& calls) HOLDFAST_REQUIRES(mutex_);
  Event keep(const Machine::Action& action) HOLDFAST_REQUIRES(mutex_);
  bool keep_grant(const Machine::Action& action) HOLDFAST_REQUIRES(mutex_);
  void take_slot() HOLDFAST_REQUIRES(mutex_);
  void answered() HOLDFAST_REQUIRES(mutex_);
  void give_back_grant() HOLDFAST_REQUIRES(mutex_);
  void take_back(int remaining) HOLDFAST_REQUIRES(mutex_);
  Millis longest_lease() const;
  PendingRelease::What release_to(int remaining) const HOLDFAST_REQUIRES(mutex_);
  std::optional<Event> refused(std::string_view text, const client::Sent& sent)
      HOLDFAST_REQUIRES(mutex_);
  Event granted(const Answer& answer, const client::Sent& sent) HOLDFAST_REQUIRES(mutex_);

  const Recipe& recipe_;
  AcquireRequest request_;  // its slot changes with owner_
  const std::string channel_;
  OwnerNumber owner_;
  Machine machine_ HOLDFAST_GUARDED_BY(mutex_);
  AcquireStats stats_ HOLDFAST_GUARDED_BY(mutex_);
  bool probing_ HOLDFAST_GUARDED_BY(mutex_) =
      false;       // whether the server can have a grant confirmed; the attempt follows
  int count_ = 0;  // the hold count that a grant makes; 0 before the first attempt
  bool by_text_ = false;
  bool begun_attempt_ HOLDFAST_GUARDED_BY(mutex_) = false;  // the keeper counts this acquisition
  bool takes_over_ HOLDFAST_GUARDED_BY(mutex_) =
      false;  // a release of the owner's, until the server answers
  bool held_back_ HOLDFAST_GUARDED_BY(mutex_) = false;  // by an answer owed to this client
  // An earlier sending of the attempt, whose answer was lost, may have been executed.
  bool maybe_granted_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::optional<std::uint64_t> seen_
      HOLDFAST_GUARDED_BY(mutex_);  // the channel's sequence before the attempt
  TimePoint begun_{};
  TimePoint sent_ HOLDFAST_GUARDED_BY(mutex_){};  // when the granting command went out
};

}  // namespace holdfast::sync
