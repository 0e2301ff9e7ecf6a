#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sync/operation/acquire_account.h"
#include "sync/operation/acquire_request.h"
#include "sync/operation/acquire_stats.h"
#include "sync/operation/next_waiter.h"
#include "sync/operation/operation.h"

namespace holdfast::sync {

// An acquisition: reports events to the machine and carries out its actions. A grant is recorded
// with the keeper before it is reported.
class AcquireOperation final : public Operation,
                               public wait::Waiter,
                               public wait::NextWaiter,
                               public AckListener {
 public:
  // When it began, and by which plan its first attempt was sent; none: it was not, and the
  // operation begins from the start.
  struct Begun {
    TimePoint at;
    std::optional<lease::AttemptPlan> sent;
  };
  // By FirstAcquire.
  AcquireOperation(AcquireAccount account, const Begun& begun);

  void cancel() override { deliver({Event::Kind::kCancel}); }
  About about() override { return request().about(); }

  bool accept_offer(const std::function<void()>& send) override;
  void offer_answered(const Answer& answer, const client::Sent& sent) override;
  void offer_in_doubt(const Status& why) override;
  std::string owner_field() const override { return field(request().owner); }
  Millis lease_time() const override { return request().lease.time; }
  const Recipe& recipe() const override { return request().recipe(); }

  resp::ReplyKinds encode(std::string& out, bool by_text) const override;
  int preload(std::string& out) const override { return script::load(out, recipe().scripts()); }
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;
  TimePoint since() const override;
  std::int64_t wants() const override;
  std::shared_ptr<wait::NextWaiter> next_waiter() override { return self(); }
  void on_signal() override { deliver({Event::Kind::kTryNow}); }
  void on_message(std::string_view payload) override;
  void on_turn(TimePoint retry_at) override { deliver({Event::Kind::kTurn, {}, retry_at}); }
  void on_failure(const Status& why) override {
    deliver(Event::of(Event::Kind::kFailed, unreachable_status(why, name()), true));
  }
  std::string_view granted_key() const override { return key(); }
  void write_again(script::Writer& out) const override;
  bool written_again(const resp::Reply& reply) const override {
    return recipe().taking()->written_again(reply);
  }
  Millis longest_wait() const override;
  void confirmed(Acknowledgement outcome) override;

 private:
  using Event = AcquireMachine::Event;
  using Action = AcquireMachine::Action;
  using Next = std::optional<Event>;

  void begin() override;
  bool stopped_by(Interrupt& interrupt) override;
  const AcquireRequest& request() const HOLDFAST_UNCHECKED { return account_.request(); }
  Status open() HOLDFAST_EXCLUDES(mutex_);
  void start();
  bool wait_for_renewal() HOLDFAST_EXCLUDES(mutex_);
  bool was_held_up() HOLDFAST_EXCLUDES(mutex_);
  void catch_up() const;
  void time_is_up(TimePoint now) override;
  TimePoint latest() const override { return time_.latest(); }
  Status late(const Status& why) const;

  void deliver(Event event) HOLDFAST_EXCLUDES(mutex_);
  Event answer(const Answer& answer, const client::Sent& sent) const;
  void answered(const Answer& answer, const client::Sent& sent);
  Event ahead() HOLDFAST_EXCLUDES(mutex_);
  Event begun(const lease::AttemptPlan& plan) const;
  void prepare(const Action& action) HOLDFAST_REQUIRES(mutex_);

  // Carry out an action; what it leads to at once.
  Next perform(const Action& action, wait::Calls& calls) HOLDFAST_REQUIRES(mutex_);
  Event attempt(TimePoint until) HOLDFAST_REQUIRES(mutex_);
  Next send(const Action& action) HOLDFAST_REQUIRES(mutex_);
  Next awaiting(const Status& closed) HOLDFAST_REQUIRES(mutex_);
  Event join(bool afresh) HOLDFAST_REQUIRES(mutex_);
  Event keep(const Action& action) HOLDFAST_REQUIRES(mutex_);
  void sleep(const Action& action) HOLDFAST_REQUIRES(mutex_);
  void conclude(const Action& action, wait::Calls& calls) HOLDFAST_REQUIRES(mutex_);
  void notify_others(const Action& action, wait::Calls& calls) HOLDFAST_REQUIRES(mutex_);

  std::shared_ptr<AcquireOperation> self() {
    return std::static_pointer_cast<AcquireOperation>(shared_from_this());
  }

  AcquireAccount account_ HOLDFAST_GUARDED_BY(mutex_);
  const std::string channel_;
  AcquireMachine machine_ HOLDFAST_GUARDED_BY(mutex_);
  AcquireStats stats_ HOLDFAST_GUARDED_BY(mutex_);
  bool held_up_ HOLDFAST_GUARDED_BY(mutex_) = false;  // by a renewal of the owner's
  int count_ = 0;                                     // of the attempt that is sent
  std::optional<std::uint64_t> seen_
      HOLDFAST_GUARDED_BY(mutex_);  // the channel's sequence before the attempt
  const TimePoint begun_;
  const CallersTime time_;
};

}  // namespace holdfast::sync
