#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "locks/sync/operation/release.h"
#include "locks/sync/operation/synchronizer.h"
#include "redis/base/mutex.h"

namespace holdfast::wait {

// The waiter to which a release of the same client hands its lock over by a command. Any thread.
class NextWaiter {
 public:
  // The owner and the lease that the command asks for, and the kind whose script it is.
  struct Terms {
    std::string owner_field;
    Millis lease;
    const sync::Recipe& recipe;
  };

  virtual ~NextWaiter() = default;

  // False if the waiter no longer needs it. Otherwise calls `send` with the next waiter's lock
  // held, so that a release, if the next waiter gives up, stands behind the command.
  virtual bool accept_offer(const std::function<void()>& send) = 0;
  // Then, once: the command was answered so; refused (kHeld: never executed, else with the reason
  // in `why`: an earlier sending may have been executed), or not answered at all: on_failure().
  virtual void offer_answered(const sync::Answer& answer, const client::Sent& sent,
                              const Status& why) = 0;
  virtual void on_failure(const Status& why) = 0;
  virtual Terms terms() const = 0;
};

}  // namespace holdfast::wait

namespace holdfast::sync {

// The release of a hold. How it ended, in Outcome::verdict: kGranted (done), kBusy (the caller
// holds nothing), kGone (its hold was lost; `why` says how), kFailed. If other owners of this
// client wait, the last release hands the lock to the first of them, in one step on the server. One
// that leaves holds counts at once: it is not sent again, as the next release contains the
// remaining count.
class HoldRelease final : public Release {
 public:
  struct Order {
    OwnerNumber owner;
    lease::Ending ending{};
    bool deferred = false;
    bool block = false;  // the hold of a `with` block that ends
  };
  // `synchronizer`: of a kind with holds.
  HoldRelease(std::shared_ptr<const Context> context, SynchronizerPtr synchronizer, Order order);

  // Gives back holds that no caller has. How many holds it leaves, which a release is still to say
  // to the server; nothing: none.
  static std::optional<int> give_back(std::shared_ptr<const Context> context,
                                      SynchronizerPtr synchronizer, Order order);
  // Releases all holds of an owner, unless the owner has begun to release them.
  static void release_held(std::shared_ptr<const Context> context, SynchronizerPtr synchronizer,
                           OwnerNumber owner);

  void cancel() override;
  About about() override;
  // A release with its text takes the place of a hand-over that the server did not know: loads the
  // script of the next one.
  int preload(std::string& out) const override { return script::load(out, recipe_.scripts()); }
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;
  void written() override;

 private:
  using Plan = lease::ReleasePlan;
  using NextWaiter = std::shared_ptr<wait::NextWaiter>;

  // For a deferred release: its caller leaves once the command is written.
  enum class Writing { kUnknown, kAwaited, kDone };

  bool begin(TimePoint now) HOLDFAST_UNCHECKED override;
  void begin_apart() HOLDFAST_EXCLUDES(mutex_);
  bool post_first(Parker* here) override;
  void answered_here(resp::Reply&& reply, const client::Sent& sent) HOLDFAST_UNCHECKED override;
  void time_is_up(TimePoint now) override;
  void write(script::Writer& out) const override;
  void follow(const Plan& plan) HOLDFAST_EXCLUDES(mutex_);

  void send() HOLDFAST_REQUIRES(mutex_) override;
  bool hand_over() HOLDFAST_REQUIRES(mutex_);  // false: there is no waiter to hand it to
  void await_writing() HOLDFAST_REQUIRES(mutex_);
  void defer_if_written(bool written) HOLDFAST_REQUIRES(mutex_);
  void defer() HOLDFAST_REQUIRES(mutex_);
  void answered(const resp::Reply& reply, const client::Sent& sent)
      HOLDFAST_REQUIRES(mutex_) override;
  void gone(const std::string& reason) HOLDFAST_REQUIRES(mutex_);
  void refused(std::string_view text) HOLDFAST_REQUIRES(mutex_) override;
  void turned_away(const Status& why) HOLDFAST_REQUIRES(mutex_) override;
  void refused_for_good(const Status& why) HOLDFAST_REQUIRES(mutex_) override;
  void leave_pending(const Status& why) HOLDFAST_REQUIRES(mutex_) override;
  wait::Calls take_calls() HOLDFAST_REQUIRES(mutex_);

  bool is(Plan::Kind kind) const { return plan_.kind == kind; }
  std::string channel() const { return synchronizer_->channel(context(), owner_); }
  void report_done() { context().keeper->releases.done(name(), owner_, plan_); }

  const SynchronizerPtr synchronizer_;
  const HoldRecipe& recipe_;
  const Order order_;
  Plan plan_;
  NextWaiter next_waiter_;
  wait::Calls calls_;  // to be run without mutex_
  bool sent_before_ HOLDFAST_GUARDED_BY(mutex_) =
      false;  // an earlier sending may have been executed
  // New operations of this client wait for the answer.
  bool in_flight_ HOLDFAST_GUARDED_BY(mutex_) = false;
  SharedAtomic<Writing> writing_{Writing::kUnknown};
};

}  // namespace holdfast::sync
