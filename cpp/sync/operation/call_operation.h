#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sync/operation/operation.h"

namespace holdfast::sync {

// A query, or a single step that may be repeated without a further effect. Outcome::value is the
// reply, which must be an integer, a decimal string, or nil.
class CallOperation final : public Operation {
 public:
  // Appends the command.
  using Encode = std::function<void(script::Writer& out)>;
  // Gets the reply before the caller does, and may correct it; on any thread.
  using Answered =
      std::function<void(std::optional<std::int64_t>& value, const client::Sent& sent)>;

  CallOperation(std::shared_ptr<const Context> context, LockName name, Encode encode,
                Answered answered = {});

  // A release in the name of `owner` (the number of the request). If its caller leaves, the ledger
  // of releases completes it. It may be repeated for `longer` after it may have been executed; 0:
  // always.
  struct Return {
    OwnerNumber owner;
    Millis longer{0};
    Millis lease{0};  // after which the released thing expires; 0: never
  };
  // To be called before it begins.
  void carry_through(Return what) { return_ = what; }

  // A command that was sent may still be executed; it is not sent again, except for a release.
  void cancel() override;

  resp::ReplyKinds encode(std::string& out) const override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

 private:
  void begin() override;
  void time_is_up(TimePoint now) override;
  void go() HOLDFAST_REQUIRES(mutex_);
  void refused(std::string_view text) HOLDFAST_REQUIRES(mutex_);
  void failed(const Status& why, bool rested) HOLDFAST_REQUIRES(mutex_);
  void leave_to_ledger(bool rested) HOLDFAST_REQUIRES(mutex_);
  void settle() HOLDFAST_REQUIRES(mutex_);

  const Encode encode_;
  const Answered answered_;
  std::optional<Return> return_;
  lease::ReleaseLedger::Turn turn_ HOLDFAST_GUARDED_BY(mutex_) = 0;  // of return_
  bool by_text_ = false;
  bool cancelled_ HOLDFAST_GUARDED_BY(mutex_) = false;
  bool resting_ HOLDFAST_GUARDED_BY(mutex_) = false;  // until wake_at(): it is not in line
  bool maybe_done_ HOLDFAST_GUARDED_BY(mutex_) = false;
  TimePoint give_up_ HOLDFAST_GUARDED_BY(mutex_) = kNever;
};

}  // namespace holdfast::sync
