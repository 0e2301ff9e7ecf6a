#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "locks/sync/operation/acquire.h"
#include "locks/sync/operation/hold_release.h"

namespace holdfast::sync {

// What only an acquisition needs that its first command has not ended: it reports events to the
// machine and carries out its actions. It is a waiter in the registry, to which another owner of
// the client may hand the lock over. Its acquisition, whose lock it uses, owns it.
class Acquire::Contended final : public wait::Waiter, public wait::NextWaiter {
 public:
  using Event = AcquireMachine::Event;

  // `sent`: the first attempt is on its way, or answered; else begin() follows.
  Contended(Acquire& acquire, bool sent) HOLDFAST_UNCHECKED;

  void begin() HOLDFAST_EXCLUDES(acquire_.mutex_);
  void complete(Result<resp::Reply> reply, const client::Sent& sent)
      HOLDFAST_EXCLUDES(acquire_.mutex_);
  void time_is_up(TimePoint now) HOLDFAST_EXCLUDES(acquire_.mutex_);
  void deliver(Event event) HOLDFAST_EXCLUDES(acquire_.mutex_);

  void on_signal() override { deliver({Event::Kind::kTryNow}); }
  void on_message(std::string_view payload) override;
  void on_turn(TimePoint retry_at) override { deliver({Event::Kind::kTurn, {}, retry_at}); }
  void on_failure(const Status& why) override {
    deliver(Event::of(Event::Kind::kFailed, unreachable_status(why, acquire_.name()), true));
  }
  std::shared_ptr<wait::NextWaiter> next_waiter() override { return self(); }

  bool accept_offer(const std::function<void()>& send) override;
  void offer_answered(const Answer& answer, const client::Sent& sent, const Status& why) override;
  Terms terms() const override {
    return {acquire_.field(request().owner), request().lease.time, acquire_.recipe()};
  }

 private:
  using Action = AcquireMachine::Action;
  using Next = std::optional<Event>;

  void start() HOLDFAST_EXCLUDES(acquire_.mutex_);
  Event ahead() HOLDFAST_EXCLUDES(acquire_.mutex_);
  Event begun(const lease::AttemptPlan& plan) const;
  Event failed(const Status& why, bool unknown) const;
  Event answer(const Answer& answer, const client::Sent& sent) const;

  // Carry out an action; what it leads to at once.
  Next perform(const Action& action, wait::Calls& calls) HOLDFAST_REQUIRES(acquire_.mutex_);
  Next ask(const Action& action) HOLDFAST_REQUIRES(acquire_.mutex_);
  Event attempt(TimePoint until) HOLDFAST_REQUIRES(acquire_.mutex_);
  Next send(const Action& action) HOLDFAST_REQUIRES(acquire_.mutex_);
  Event join(bool afresh) HOLDFAST_REQUIRES(acquire_.mutex_);
  Event keep(const Action& action) HOLDFAST_REQUIRES(acquire_.mutex_);
  void sleep(const Action& action) HOLDFAST_REQUIRES(acquire_.mutex_);
  void conclude(const Action& action, wait::Calls& calls) HOLDFAST_REQUIRES(acquire_.mutex_);
  void notify_others(const Action& action, wait::Calls& calls) HOLDFAST_REQUIRES(acquire_.mutex_);

  // Lives as long as its acquisition.
  std::shared_ptr<Contended> self() { return {acquire_.shared_from_this(), this}; }
  const AcquireRequest& request() const { return acquire_.request(); }
  const Context& context() const { return acquire_.context(); }

  Acquire& acquire_;
  const std::string channel_;
  const std::string beside_;  // Recipe::channel_beside()
  AcquireMachine machine_ HOLDFAST_GUARDED_BY(acquire_.mutex_);
  AcquireStats stats_ HOLDFAST_GUARDED_BY(acquire_.mutex_);
  bool held_up_ HOLDFAST_GUARDED_BY(acquire_.mutex_) = false;  // by a renewal of the owner's
  // The sequences of the channels before the attempt.
  std::optional<std::uint64_t> seen_ HOLDFAST_GUARDED_BY(acquire_.mutex_);
  std::optional<std::uint64_t> seen_beside_ HOLDFAST_GUARDED_BY(acquire_.mutex_);
};

}  // namespace holdfast::sync
