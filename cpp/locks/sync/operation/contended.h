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

// What only an acquisition needs that its first command has not ended: it notifies the machine of
// what happens, and does what the machine decides. It is a waiter in the registry, to which another
// owner of the client may hand the lock over. Its acquisition, whose lock it uses, owns it.
class Acquire::Contended final : public wait::Waiter,
                                 public wait::NextWaiter,
                                 private AcquireMachine::Driver {
 public:
  // `sent`: the first attempt is on its way, or answered; else begin() follows.
  Contended(Acquire& acquire, bool sent) HOLDFAST_UNCHECKED;

  void begin() HOLDFAST_EXCLUDES(acquire_.mutex_);
  void complete(Result<resp::Reply> reply, const client::Sent& sent)
      HOLDFAST_EXCLUDES(acquire_.mutex_);
  void time_is_up(TimePoint now) HOLDFAST_EXCLUDES(acquire_.mutex_);
  void cancel() HOLDFAST_EXCLUDES(acquire_.mutex_) { notify(&AcquireMachine::cancel); }

  void on_signal() override { notify(&AcquireMachine::signal); }
  void on_message(std::string_view payload) override;
  void on_turn(TimePoint retry_at) override { notify(&AcquireMachine::turn, retry_at); }
  void on_failure(const Status& why) override {
    notify(&AcquireMachine::failed, unreachable_status(why, acquire_.name()), true);
  }
  std::shared_ptr<wait::NextWaiter> next_waiter() override {
    return request().recipe().steps.transfer ? self() : nullptr;
  }

  bool accept_offer(const std::function<void()>& send) override;
  void offer_answered(const Answer& answer, const client::Sent& sent, const Status& why) override;
  Terms terms() const override {
    return {acquire_.field(request().owner), request().lease.time, acquire_.recipe()};
  }

 private:
  using Begun = AcquireMachine::Begun;
  using Place = AcquireMachine::Place;
  using Response = AcquireMachine::Response;

  // An event of the machine, with the lock; what it has for other waiters comes without it.
  template <typename... Takes, typename... Arguments>
  void notify(void (AcquireMachine::*event)(TimePoint, Takes...), Arguments&&... arguments)
      HOLDFAST_EXCLUDES(acquire_.mutex_);
  void start() HOLDFAST_EXCLUDES(acquire_.mutex_);
  Response received(const Answer& answer, const client::Sent& sent) const;
  Status unanswered(const Status& why) const;

  Result<Begun> begin_attempt(TimePoint until) HOLDFAST_REQUIRES(acquire_.mutex_) override;
  Status send(int count, TimePoint connect_deadline) HOLDFAST_REQUIRES(acquire_.mutex_) override;
  Status probe() HOLDFAST_REQUIRES(acquire_.mutex_) override;
  Status confirm() HOLDFAST_REQUIRES(acquire_.mutex_) override;
  Status keep(const Response& grant, int count) HOLDFAST_REQUIRES(acquire_.mutex_) override;
  Result<Place> join(bool afresh) HOLDFAST_REQUIRES(acquire_.mutex_) override;
  void sleep_until(TimePoint until) HOLDFAST_REQUIRES(acquire_.mutex_) override;
  void take_back(int remaining, bool anew) HOLDFAST_REQUIRES(acquire_.mutex_) override;
  void settled() HOLDFAST_REQUIRES(acquire_.mutex_) override;
  void report(const Answer& refusal) HOLDFAST_REQUIRES(acquire_.mutex_) override;
  void finish(Outcome outcome, const AcquireMachine::Rest& rest)
      HOLDFAST_REQUIRES(acquire_.mutex_) override;
  void give_back() HOLDFAST_REQUIRES(acquire_.mutex_) override { acquire_.give_back(); }
  void pass_on() HOLDFAST_REQUIRES(acquire_.mutex_) override {
    calls_.append(context().waits->not_for(channel_, *this));
  }

  // Notifies the machine of what replicas say; once.
  Confirmed acknowledged();
  // Lives as long as its acquisition.
  std::shared_ptr<Contended> self() { return {acquire_.shared_from_this(), this}; }
  const AcquireRequest& request() const { return acquire_.request(); }
  const Context& context() const { return acquire_.context(); }

  Acquire& acquire_;
  const std::string channel_;
  const std::string beside_;  // Recipe::channel_beside()
  AcquireMachine machine_ HOLDFAST_GUARDED_BY(acquire_.mutex_);
  AcquireStats stats_ HOLDFAST_GUARDED_BY(acquire_.mutex_);
  wait::Calls calls_ HOLDFAST_GUARDED_BY(acquire_.mutex_);     // to be run without the lock
  bool held_up_ HOLDFAST_GUARDED_BY(acquire_.mutex_) = false;  // by a renewal of the owner's
  // The sequences of the channels before the attempt.
  std::optional<std::uint64_t> seen_ HOLDFAST_GUARDED_BY(acquire_.mutex_);
  std::optional<std::uint64_t> seen_beside_ HOLDFAST_GUARDED_BY(acquire_.mutex_);
};

}  // namespace holdfast::sync
