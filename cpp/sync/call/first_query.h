#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "client/request.h"
#include "sync/call/call.h"
#include "sync/call/first_step.h"
#include "sync/operation/query_operation.h"

namespace holdfast::sync {

// The first sending of a query, or of a step without an owner. Whatever else comes of it is the
// business of a QueryOperation, which only this makes. It does no I/O and knows no threads: see
// Call, which owns it.
class FirstQuery {
 public:
  FirstQuery(std::shared_ptr<const Context> context, Query query)
      : context_(std::move(context)), query_(std::move(query)) {}

  // Its request is the command of the pending release (Query::returns).
  static constexpr bool kPending = true;
  const LockName& name() const { return query_.name; }
  Exchange::About about() const { return {}; }

  // `command`: the request that sends encode(), which is always to be sent.
  FirstStep begin(TimePoint now, const client::RequestPtr& command);
  resp::ReplyKinds encode(std::string& out, bool by_text) const;

  // The reply has come. Nothing: it is an error; operation() follows.
  std::optional<Outcome> finish(const resp::Reply& reply, const client::Sent& sent,
                                wait::Calls& calls) const;
  // Makes the operation that gets the reply as its first event, or its failure.
  OperationPtr operation(bool sent) const;

  int preload(std::string& /*out*/) const { return 0; }
  bool leave() const { return false; }
  void take_back() const {}

 private:
  std::shared_ptr<const Context> context_;
  Query query_;
  QueryOperation::Begun begun_{};
};

// A caller's exchange for that query.
inline ExchangePtr call_of(std::shared_ptr<const Context> context, Query query) {
  return std::make_shared<CallOf<FirstQuery>>(std::move(context), std::move(query));
}

}  // namespace holdfast::sync
