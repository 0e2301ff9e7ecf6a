#pragma once

#include <cstdint>
#include <optional>
#include <string>
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
  kUnderWay,     // its owner is in the middle of another call for the same lock; nothing was sent
};

// Why a server cannot be reached, if known.
enum class Reach {
  kUnknown,
  kRefused,    // no server listens at its address: a connection is refused at once
  kPlainText,  // it answers in plain text instead of TLS
};

// Success, or the reason for a failure. A message says what failed, on which server, and what to do
// next; it never contains a password.
class [[nodiscard]] Status {
 public:
  Status() = default;

  static Status unreachable(std::string message, Reach reach = Reach::kUnknown) {
    Status status(Code::kUnreachable, std::move(message), {});
    status.reach_ = reach;
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

  static Status under_way(std::string message) {
    return Status(Code::kUnderWay, std::move(message), {});
  }
  static Status revoked() {
    return Status(Code::kRevoked, "a later command of the same owner goes first", {});
  }

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& word() const { return word_; }

  // The same failure with `more` before its message.
  Status prefixed(const std::string& more) const {
    Status status = *this;
    status.message_ = more + message_;
    return status;
  }

  Reach reach() const { return reach_; }

  // The number of the exception of an application's callable, if that is the reason; 0: none.
  std::uint64_t cause() const { return cause_; }
  Status caused_by(std::uint64_t cause) && {
    cause_ = cause;
    return std::move(*this);
  }

 private:
  Status(Code code, std::string message, std::string word)
      : code_(code), message_(std::move(message)), word_(std::move(word)) {}

  Code code_ = Code::kOk;
  Reach reach_ = Reach::kUnknown;
  std::string message_;
  std::string word_;
  std::uint64_t cause_ = 0;
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

}  // namespace holdfast
