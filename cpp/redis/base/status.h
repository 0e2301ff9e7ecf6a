#pragma once

// Failures, and the form of names in their messages.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

// The result of an exchange. "Held by another owner" is not among them: that is an answer, not a
// failure.
enum class Code {
  kOk,
  kUnreachable,  // no reply in time; a command may have been executed
  kServer,       // the server answered with an error; `word` is the first word of it
  kClosed,       // the client was closed
  kInvalid,      // an argument is bad; nothing was sent
  kRevoked,      // a later command of the same owner goes first; nothing was sent
  kLost,         // its owner has lost an earlier hold; nothing was sent
  kUnderWay,     // its owner is in the middle of another call for the same lock; nothing was sent
};

// Why a server cannot be reached, if known.
enum class Reach {
  kUnknown,
  kRefused,    // it is known at once that there is none: nothing listens at its address, or what
               // listens hangs up before it has answered; no such host; no descriptor is left
  kPlainText,  // it answers in plain text instead of TLS
};

// Success, or the reason for a failure. A message says what failed, on which server, and what to do
// next; it never contains a password. Success is one null pointer, so it is passed on for nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(const Status& other)
      : failure_(other.failure_ ? std::make_unique<Failure>(*other.failure_) : nullptr) {}
  Status& operator=(const Status& other) {
    if (this != &other) *this = Status(other);
    return *this;
  }
  Status(Status&& other) noexcept = default;
  Status& operator=(Status&& other) noexcept = default;
  ~Status() = default;

  static Status unreachable(std::string message, Reach reach = Reach::kUnknown) {
    Status status(Code::kUnreachable, std::move(message), {});
    status.failure_->reach = reach;
    return status;
  }
  static Status server(std::string word, std::string message) {
    return Status(Code::kServer, std::move(message), std::move(word));
  }
  static Status invalid(std::string message) {
    return Status(Code::kInvalid, std::move(message), {});
  }
  static Status closed(std::string message) {
    return Status(Code::kClosed, std::move(message), {});
  }

  static Status lost(std::string message) { return Status(Code::kLost, std::move(message), {}); }
  static Status under_way(std::string message) {
    return Status(Code::kUnderWay, std::move(message), {});
  }
  static Status revoked() {
    return Status(Code::kRevoked, "a later command of the same owner goes first", {});
  }

  bool ok() const { return failure_ == nullptr; }
  Code code() const { return failure_ ? failure_->code : Code::kOk; }
  const std::string& message() const { return failure_ ? failure_->message : nothing(); }
  const std::string& word() const { return failure_ ? failure_->word : nothing(); }

  // This failure with `more` before its message.
  Status prefixed(const std::string& more) const {
    Status status = *this;
    if (status.failure_) status.failure_->message = more + status.failure_->message;
    return status;
  }

  // This failure with `more` behind its message.
  Status followed(const std::string& more) const {
    Status status = *this;
    if (status.failure_) status.failure_->message += more;
    return status;
  }

  Reach reach() const { return failure_ ? failure_->reach : Reach::kUnknown; }

  // The number of the exception of an application's callable, if that is the reason; 0: none.
  std::uint64_t cause() const { return failure_ ? failure_->cause : 0; }
  // The server has refused a repetition of a command that it may have executed before.
  bool repeated() const { return failure_ && failure_->repeated; }
  Status as_repeated(bool repeated) && {
    if (failure_) failure_->repeated = repeated;
    return std::move(*this);
  }
  Status caused_by(std::uint64_t cause) && {
    if (failure_) failure_->cause = cause;
    return std::move(*this);
  }

 private:
  struct Failure {
    Code code;
    std::string message;
    std::string word;
    Reach reach = Reach::kUnknown;
    std::uint64_t cause = 0;
    bool repeated = false;
  };

  Status(Code code, std::string message, std::string word)
      : failure_(new Failure{code, std::move(message), std::move(word)}) {}
  static const std::string& nothing() {
    static const std::string empty;
    return empty;
  }

  std::unique_ptr<Failure> failure_;  // null: success
};

// A value, or the Status of the failure.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() { return *value_; }
  const T& value() const { return *value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

// Bytes as text for people, in UTF-8, the one form in which messages, logs and tables show a name:
// control characters, characters that are invisible or change the direction of the text, separators
// of lines, and bytes that are not UTF-8 as \xNN for each byte. Any thread.
std::string shown(std::string_view bytes);

// shown() between single quotes.
std::string quoted(std::string_view bytes);

}  // namespace holdfast
