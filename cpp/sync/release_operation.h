#pragma once

#include <memory>
#include <string>

#include "sync/acquire_operation.h"
#include "sync/operation.h"
#include "sync/pending_release.h"

namespace holdfast::sync {

// How a release ended, in Outcome::verdict: kGranted (done), kBusy (the caller holds nothing),
// kGone (its hold was lost; `why` says how), kFailed.
//
// The last release of a lock that others of this client wait for hands it to the first of them, in
// one step on the server.
class ReleaseOperation final : public Operation {
 public:
  struct What {
    LockName name;
    OwnerNumber owner;
    bool all = false;  // all holds of the owner at once
  };

  ReleaseOperation(std::shared_ptr<const Context> context, const Recipe& recipe, What what);

  // A release that has begun is completed by the ledger. One that leaves holds counts at once: it
  // is not sent again, as the next release contains the remaining count.
  void cancel() override;
  About about() override;

  void encode(std::string& out) const override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

 private:
  using Plan = lease::ReleasePlan;
  using Heir = std::shared_ptr<AcquireOperation>;

  void begin() override;
  void time_is_up(TimePoint now) override;

  bool may_hand_over() const;
  bool hand_over();  // false: there is no waiter to hand it to
  void go();
  PendingRelease::What pending() const;
  void leave_to_ledger(bool rested);
  void answered(const resp::Reply& reply);
  void gone(const std::string& reason);
  void refused(std::string_view text);
  void failed(const Status& why);

  const Recipe& recipe_;
  const What what_;
  const std::string channel_;
  Plan plan_;
  Heir heir_;
  wait::Calls calls_;  // to be run without mutex_
  bool by_text_ = false;
  bool cancelled_ = false;
  bool resting_ = false;      // until wake_at(): it is not in line
  bool sent_before_ = false;  // an earlier sending may have been executed
  TimePoint give_up_ = kNever;
};

}  // namespace holdfast::sync
