#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/sync_points.h"
#include "sync/operation/next_waiter.h"
#include "sync/operation/operation.h"
#include "sync/operation/pending_release.h"
#include "sync/operation/synchronizer.h"

namespace holdfast::sync {

// How a release ended, in Outcome::verdict: kGranted (done), kBusy (the caller holds nothing),
// kGone (its hold was lost; `why` says how), kFailed.
// If other owners of this client wait, the last release hands the lock to the first of them, in one
// step on the server.
// A deferred last release without a hand-over is done for its caller once its command is written.
// The operation continues, and reports its end as an event.
class ReleaseOperation final : public Operation {
 public:
  struct What {
    OwnerNumber owner;
    bool all = false;  // all holds of the owner at once
    bool deferred = false;
    bool block = false;  // the hold of a `with` block that ends
  };
  // The plan by which it began, and when.
  struct Begun {
    lease::ReleasePlan plan;
    TimePoint at;
  };

  // By FirstRelease. `synchronizer`: of a kind with holds.
  ReleaseOperation(std::shared_ptr<const Context> context, SynchronizerPtr synchronizer, What what,
                   Begun begun);

  // It is the command of its pending release from now on, for a caller that waits, or has left
  // by the plan.
  void resume() override;
  // The server has replied to a release of a kind with `reply` (see TakingRecipe::release()): what
  // this means for the waiters of the channel.
  static wait::Calls published(const Context& context, const Recipe& recipe,
                               const std::string& channel, std::int64_t reply);
  // A release that has begun is completed as a pending one. One that leaves holds counts at once:
  // it is not sent again, as the next release contains the remaining count.
  void cancel() override;
  About about() override;

  resp::ReplyKinds encode(std::string& out, bool by_text) const override;
  int preload(std::string& out) const override { return script::load(out, recipe_.scripts()); }
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;
  void written() override;

 private:
  using Plan = lease::ReleasePlan;
  using NextWaiter = std::shared_ptr<wait::NextWaiter>;

  void begin() override;
  void time_is_up(TimePoint now) override;

  bool may_hand_over() const HOLDFAST_REQUIRES(mutex_);
  bool hand_over() HOLDFAST_REQUIRES(mutex_);  // false: there is no waiter to hand it to
  void resume_entry() HOLDFAST_REQUIRES(mutex_);
  void await_writing() HOLDFAST_REQUIRES(mutex_);
  void not_owned() HOLDFAST_REQUIRES(mutex_);
  void send() HOLDFAST_REQUIRES(mutex_);
  PendingRelease::What pending() const HOLDFAST_REQUIRES(mutex_);
  void leave_pending(bool refused_for_now) HOLDFAST_REQUIRES(mutex_);
  void trace_hand_over() const;
  void answer_offer(wait::NextWaiter& next_waiter, const Answer& answer,
                    const Result<resp::Reply>& reply, const client::Sent& sent) const
      HOLDFAST_EXCLUDES(mutex_);
  void answered(const resp::Reply& reply) HOLDFAST_REQUIRES(mutex_);
  void gone(const std::string& reason) HOLDFAST_REQUIRES(mutex_);
  void refused(std::string_view text) HOLDFAST_REQUIRES(mutex_);
  void failed(const Status& why) HOLDFAST_REQUIRES(mutex_);
  void back_off() HOLDFAST_REQUIRES(mutex_);
  void defer_if_written(bool written) HOLDFAST_REQUIRES(mutex_);
  void defer() HOLDFAST_REQUIRES(mutex_);
  // Whether its caller has left, and the operation goes on.
  bool caller_left() const HOLDFAST_REQUIRES(mutex_) { return plan_.deferred != nullptr; }
  void end(Outcome outcome) HOLDFAST_REQUIRES(mutex_);

  // For a deferred release: its caller leaves once the command is written.
  enum class Writing { kUnknown, kAwaited, kDone };

  const SynchronizerPtr synchronizer_;
  const HoldRecipe& recipe_;
  const What what_;
  const std::string channel_;
  Plan plan_;
  NextWaiter next_waiter_;
  wait::Calls calls_;  // to be run without mutex_
  bool cancelled_ HOLDFAST_GUARDED_BY(mutex_) = false;
  bool backing_off_ HOLDFAST_GUARDED_BY(mutex_) = false;  // until wake_at(): it is not queued
  bool sent_before_ HOLDFAST_GUARDED_BY(mutex_) =
      false;  // an earlier sending may have been executed
  // New operations of this client wait for the answer.
  bool in_flight_ HOLDFAST_GUARDED_BY(mutex_) = false;
  SharedAtomic<Writing> writing_{Writing::kUnknown};
  const TimePoint give_up_;
};

}  // namespace holdfast::sync
