#pragma once

#include <memory>
#include <optional>

#include "client/request.h"
#include "sync/call/first_step.h"
#include "sync/operation/operation.h"
#include "sync/operation/release_operation.h"

namespace holdfast::sync {

// The first command of a release, of every kind with holds: what the keeper plans, the command, and
// what "released" means. Whatever else comes of it is the business of a ReleaseOperation, which
// only this makes. It does no I/O and knows no threads: see Call, which owns it.
class FirstRelease {
 public:
  using What = ReleaseOperation::What;

  FirstRelease(std::shared_ptr<const Context> context, SynchronizerPtr synchronizer, What what)
      : context_(std::move(context)), synchronizer_(std::move(synchronizer)), what_(what) {}

  // Its request is the command of the pending release.
  static constexpr bool kPending = true;
  const LockName& name() const { return synchronizer_->name(); }
  Exchange::About about() const {
    return {synchronizer_->recipe().kind(), what_.owner, plan_.remaining == 0};
  }

  // `command`: the request that sends encode(). It is not sent where the owner holds nothing, and
  // where a waiter of this client may get the lock in the same step. Deferred: leave() follows.
  FirstStep begin(TimePoint now, const client::RequestPtr& command);
  resp::ReplyKinds encode(std::string& out, bool by_text) const;

  // The reply has come. Nothing: it does not say that it is done; operation() follows.
  std::optional<Outcome> finish(const resp::Reply& reply, const client::Sent& sent,
                                wait::Calls& calls);
  // Makes the operation. `sent`: it gets the reply as its first event, or its failure; else it
  // begins by the plan.
  OperationPtr operation(bool sent);

  // False: a newer command of the owner has taken the release over, and its caller stays.
  bool leave();
  void take_back() const {}
  int preload(std::string& /*out*/) const { return 0; }

 private:
  bool is_last() const { return plan_.verdict == lease::ReleasePlan::Verdict::kFinal; }

  std::shared_ptr<const Context> context_;
  SynchronizerPtr synchronizer_;
  What what_;
  TimePoint begun_{};
  lease::ReleasePlan plan_;
};

}  // namespace holdfast::sync
