#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "sync/operation/operation.h"

namespace holdfast::sync {

// A query of a client, or a single step that may be repeated without a further effect.
// Outcome::value is the reply, which must be an integer, a decimal string, or nil.
struct Query {
  LockName name;
  // Appends the command.
  std::function<void(script::Writer& out)> encode;
  // Gets the reply before the caller does, and may correct it; on any thread.
  std::function<void(std::optional<std::int64_t>& value, const client::Sent& sent)> answered{};

  // While true it is not sent, for the command time-out at most.
  std::function<bool()> held_up{};

  // For a release in the name of `owner` (the number of the request): if its caller leaves, it is
  // completed as a pending release. It may be repeated for `longer` after it may have been
  // executed; 0: always.
  struct Return {
    OwnerNumber owner;
    Millis longer{0};
    Millis lease{0};  // after which the released thing expires; 0: never
  };
  std::optional<Return> returns{};

  // Where the command time-out ends later: how long its caller waits.
  std::optional<Millis> within{};
};

// A query from its first byte to its end; the command of its pending release (Query::returns).
class QueryOperation final : public Operation {
 public:
  QueryOperation(std::shared_ptr<const Context> context, Query query)
      : Operation(std::move(context), query.name), query_(std::move(query)) {}

  // A command that was sent may still be executed; it is not sent again, except for a release.
  void cancel() override;

  resp::ReplyKinds encode(std::string& out, bool by_text) const override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

 private:
  void begin() override;
  void time_is_up(TimePoint now) override;
  TimePoint latest() const override { return latest_; }
  void start() HOLDFAST_REQUIRES(mutex_);
  void settle() HOLDFAST_REQUIRES(mutex_);
  void send() HOLDFAST_REQUIRES(mutex_);
  void refused(std::string_view text) HOLDFAST_REQUIRES(mutex_);
  void failed(const Status& why, bool refused_for_now) HOLDFAST_REQUIRES(mutex_);
  void leave_pending(bool refused_for_now) HOLDFAST_REQUIRES(mutex_);

  const Query query_;
  lease::Releases::Serial serial_ = 0;  // of its pending release
  TimePoint latest_ = kNever;
  TimePoint give_up_ = kNever;
  bool cancelled_ HOLDFAST_GUARDED_BY(mutex_) = false;
  bool backing_off_ HOLDFAST_GUARDED_BY(mutex_) = false;  // until wake_at(): it is not in line
  bool maybe_done_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

// A caller's exchange for that query.
inline ExchangePtr call_of(std::shared_ptr<const Context> context, Query query) {
  return std::make_shared<QueryOperation>(std::move(context), std::move(query));
}

}  // namespace holdfast::sync
