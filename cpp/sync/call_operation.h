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
  // Appends the command; `by_text` when the server did not know the script.
  using Encode = std::function<void(std::string& out, bool by_text)>;
  // Told the answer before the caller is, and may correct it; on any thread.
  using Answered =
      std::function<void(std::optional<std::int64_t>& value, const client::Sent& sent)>;

  CallOperation(std::shared_ptr<const Context> context, LockName name, Encode encode,
                Answered answered = {});

  // Before it begins: it is carried out even if the caller no longer waits. A server that is out of
  // reach is tried for the time `longer` in the background, after the caller got its error.
  void carry_through(Millis longer) { longer_ = longer; }

  // What was sent may still be executed; it is not sent again, unless it is to be carried through.
  void cancel() override;

  void encode(std::string& out) const override { encode_(out, by_text_); }
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

 private:
  void begin() override;
  void time_is_up(TimePoint now) override;
  void go();
  void refused(std::string_view text);
  void unreachable(const Status& why);

  const Encode encode_;
  const Answered answered_;
  std::optional<Millis> longer_;
  bool by_text_ = false;
  bool cancelled_ = false;
  TimePoint give_up_ = kNever;
};

}  // namespace holdfast::sync
