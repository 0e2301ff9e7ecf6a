#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sync/operation.h"

namespace holdfast::sync {

// A question to the server, or a single step on it that means the same when repeated.
// Outcome::value is the answer, which must be an integer, a decimal string, or nil.
class CallOperation final : public Operation {
 public:
  // Appends the command.
  using Encode = std::function<void(script::Writer& out)>;
  // Told the answer before the caller is, and may correct it; on any thread.
  using Answered =
      std::function<void(std::optional<std::int64_t>& value, const client::Sent& sent)>;

  CallOperation(std::shared_ptr<const Context> context, LockName name, Encode encode,
                Answered answered = {});

  // It gives something back, in the name of `owner` (the number of the request), and is completed
  // without its caller if need be, by way of the ledger of releases. It may be repeated for
  // `longer` after it may have been executed; 0: always.
  struct Return {
    OwnerNumber owner;
    Millis longer{0};
    Millis lease{0};  // when what it gives back is over anyway; 0: never
  };
  // Before it begins.
  void carry_through(Return what) { return_ = what; }

  // What was sent may still be executed; it is not sent again, unless it is to be carried through.
  void cancel() override;

  void encode(std::string& out) const override;
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
