#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "locks/sync/operation/callers_time.h"
#include "locks/sync/operation/operation.h"
#include "locks/sync/recipes/step.h"

namespace holdfast::sync {

// A query of a client, or a single step that may be repeated without a further effect. One that
// gives something back is a StepRelease. What a step takes is given back by the release of the hold
// or permit on which its script makes it depend: a copy of the step that comes after that release
// does nothing.
// Outcome::value is the reply, which must be an integer, a decimal string, or nil, unless
// `whole_reply`.
struct Query {
  LockName name;
  // Appends the command.
  std::function<void(script::Writer& out)> encode;
  Answered answered{};

  // While true it is not sent, for the command time-out at most.
  std::function<bool()> held_up{};

  // The time that its caller gives it; the command time-out bounds it in any case.
  CallersTime time{};

  // Its caller gets the reply, of any kind, by replies(); Outcome::value is nothing.
  bool whole_reply = false;

  // To observers it is the release of this hold, done once the reply is not nil.
  std::optional<Exchange::About> releases{};
};

// The query that a row is: of a name, and of the owner with that field.
inline Query query_of(const Row& row, const LockName& name, std::string owner = {}) {
  return {name, [row = &row, name, owner = std::move(owner)](script::Writer& out) {
            row->write(out, {name, owner});
          }};
}

// A query from its first byte to its end.
class QueryOperation final : public Operation {
 public:
  QueryOperation(std::shared_ptr<const Context> context, Query query)
      : Operation(std::move(context), query.name, query.releases ? Role::kRelease : Role::kCall),
        query_(std::move(query)) {}

  // Not sent any more. If it was sent, it may still be executed; but what is submitted from now on
  // stands behind it.
  void cancel() override;

  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;
  About about() override;
  const Replies* replies() const override { return query_.whole_reply ? &replies_ : nullptr; }

 private:
  void write(script::Writer& out) const override { query_.encode(out); }
  bool begin(TimePoint now) override;
  void time_is_up(TimePoint now) override;
  TimePoint latest() const override { return query_.time.latest(); }
  void send() HOLDFAST_REQUIRES(mutex_);

  const Query query_;
  Replies replies_{{}, true};  // written before its end
  TimePoint give_up_ = kNever;
  TimePoint refused_until_ = kNever;
  bool cancelled_ HOLDFAST_GUARDED_BY(mutex_) = false;
  bool maybe_done_ HOLDFAST_GUARDED_BY(mutex_) = false;  // by an earlier sending
};

// A caller's exchange for that query.
inline ExchangePtr call_of(std::shared_ptr<const Context> context, Query query) {
  return std::make_shared<QueryOperation>(std::move(context), std::move(query));
}

}  // namespace holdfast::sync
