#pragma once

#include <memory>
#include <optional>

#include "client/request.h"
#include "sync/call/first_step.h"
#include "sync/operation/acquire_account.h"
#include "sync/operation/operation.h"

namespace holdfast::sync {

// The first attempt of an acquisition, of every kind: what the client's own registry and keeper say
// before it, its command, and what a grant means. Whatever else comes of it is the business of an
// AcquireOperation, which only this makes. It does no I/O and knows no threads: see Call, which
// owns it.
class FirstAcquire {
 public:
  FirstAcquire(std::shared_ptr<const Context> context, AcquireRequest request)
      : account_(std::move(context), std::move(request)) {}

  const LockName& name() const { return request().name(); }
  Exchange::About about() const { return request().about(); }

  // Nothing is sent, and nothing was begun, where other waiters of this client are ahead, replicas
  // confirm grants, the client is closed, or the owner is acquiring it already.
  FirstStep begin(TimePoint now);
  resp::ReplyKinds encode(std::string& out, bool by_text) const;
  int preload(std::string& out) const { return script::load(out, request().recipe().scripts()); }

  // The reply has come. Nothing: it is no grant, or one that cannot be kept; operation() follows.
  std::optional<Outcome> finish(const resp::Reply& reply, const client::Sent& sent,
                                wait::Calls& calls);
  // Makes the operation. `sent`: it gets the reply as its first event, or its failure; else it
  // begins from the start.
  OperationPtr operation(bool sent);

  // After finish(): the caller will never see the grant.
  void take_back() const;

 private:
  const Context& context() const { return *account_.context(); }
  const AcquireRequest& request() const { return account_.request(); }
  bool may_begin();

  AcquireAccount account_;
  TimePoint begun_{};
  lease::AttemptPlan plan_;
  int count_ = 1;  // of the owner's holds, with the grant
};

}  // namespace holdfast::sync
