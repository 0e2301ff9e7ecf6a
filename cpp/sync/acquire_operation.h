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
};

// An acquisition: carries out the machine's actions. A grant is recorded with the keeper before it
// is reported.
class AcquireOperation final : public Operation, public wait::Waiter, public AckListener {
 public:
  AcquireOperation(std::shared_ptr<const Context> context, const Recipe& recipe,
                   AcquireRequest request);

  void cancel() override;
  About about() override { return {recipe_.kind(), request_.owner}; }

  // The holder hands its lock over, with a command whose answer follows by offer_answered() or
  // on_failure(). False when the offer is not wanted any more; else `send` is called, with this
  // operation's lock held: a release, should this operation give up, stands behind the command.
  bool accept_offer(const std::function<void()>& send);
  void offer_answered(const Answer& answer, const client::Sent& sent);
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

  void deliver(Event event);
  std::optional<Event> perform(const Machine::Action& action, wait::Calls& calls);
  std::optional<Event> attempt(const Machine::Action& action);
  std::optional<Event> join();
  std::optional<Event> confirm();
  Status begin_attempt();
  Status send();
  void conclude(Machine::Action action, wait::Calls& calls);
  void leave_queue(const Machine::Action& action, TimePoint moment, wait::Calls& calls);
  bool keep_grant(const Machine::Action& action);
  void answered();
  void give_back_grant();
  void take_back(int remaining);
  PendingRelease::What release_to(int remaining) const;
  std::optional<Event> refused(std::string_view text);
  Event granted(const Answer& answer, const client::Sent& sent);
  void mind_length(const Answer& answer);
  void told_too_late(wait::Calls& calls);
  void leave_to_others(const Answer& answer, wait::Calls& calls);

  const Recipe& recipe_;
  const AcquireRequest request_;
  const std::string channel_;
  OwnerNumber owner_;
  Machine machine_;
  AcquireStats stats_;
  bool probing_ = false;  // whether the server can have a grant confirmed; the attempt follows
  int count_ = 0;         // the hold count that a grant makes; 0 before the first attempt
  bool by_text_ = false;
  bool given_back_ = false;
  bool begun_attempt_ = false;  // the keeper counts this acquisition
  bool takes_over_ = false;     // a release of the owner's, until the server answers
  bool minded_ = false;
  std::optional<std::uint64_t> seen_;  // the channel's sequence before the attempt
  TimePoint begun_{};
  TimePoint sent_{};  // when the granting command went out
};

}  // namespace holdfast::sync
