#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

struct redisReply;
struct redisReader;

namespace holdfast::resp {

// What a reply is. Text is a string of any bytes; a status is the server's own word ("OK"), in
// capital letters: other statuses are text, as fakeredis sends short strings so.
enum class ReplyKind : std::uint8_t { kNil, kInteger, kText, kStatus, kArray, kError };

std::string_view word_for(ReplyKind kind);  // "a status", for messages

// A reply that is no more than nil, an integer, two integers, or a short text, such as a fencing
// token.
struct PlainReply {
  static constexpr std::size_t kLongestText = 20;  // digits of any token

  std::optional<std::int64_t> integer;
  std::optional<std::uint8_t> text_size{};  // without this and `integer`: nil
  std::array<char, kLongestText> text_bytes{};
  std::optional<std::int64_t> second{};  // of an array of two, after `integer`

  constexpr ReplyKind kind() const {
    if (second) return ReplyKind::kArray;
    if (integer) return ReplyKind::kInteger;
    return text_size ? ReplyKind::kText : ReplyKind::kNil;
  }
  std::string_view text() const { return {text_bytes.data(), text_size.value_or(0)}; }
};

// One reply of a server, read-only. Strings may hold any byte.
class Reply {
 public:
  explicit Reply(redisReply* owned);  // takes ownership
  explicit Reply(PlainReply plain) : plain_(plain) {}
  Reply(Reply&& other) noexcept;
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  ReplyKind kind() const;
  bool is_nil() const;
  bool is_error() const;
  bool is_integer() const;  // an integer, or a boolean (0 or 1)
  bool is_array() const;    // an array, a set, a push, or a map (name, value, name, value, ...)
  bool is_push() const;     // not a reply to a command (RESP3)

  std::int64_t integer() const;   // 0 unless is_integer()
  std::string_view text() const;  // of a string, a status, an error or a number; else empty
  std::size_t size() const;       // elements of an array; 0 for anything else

  // Element `index` of an array: the same accessors on a borrowed view. If this is not an array, or
  // has no such element: nil.
  std::string_view text_at(std::size_t index) const;
  std::int64_t integer_at(std::size_t index) const;
  bool is_nil_at(std::size_t index) const;

  // Element `index` itself, borrowed: it must not outlive this one.
  Reply at(std::size_t index) const;

  // The value after the text `name` in a map, which may be an array. Empty: there is none.
  std::string_view field(std::string_view name) const;

 private:
  friend class Reader;
  Reply(redisReply* reply, bool owned) : reply_(reply), owned_(owned) {}

  redisReply* reply_ = nullptr;  // null: it is plain_
  bool owned_ = true;
  PlainReply plain_{};
};

// Splits a byte stream into replies (hiredis' reader; RESP2 and RESP3). A PlainReply, as most
// replies to scripts are, it reads in place, without an object of hiredis. Not thread-safe.
class Reader {
 public:
  Reader();
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void feed(const char* data, std::size_t size);

  // The next complete reply; nullopt when more bytes are needed. kUnreachable with "not a Redis
  // reply" when the bytes are not RESP, and on every later call: the stream is unusable. A single
  // reply over 64 MiB counts as none.
  Result<std::optional<Reply>> next();

  // No byte has been fed of a reply that next() has not returned.
  bool at_end() const { return incomplete_ == 0; }

 private:
  std::optional<PlainReply> next_plain();
  Result<std::optional<Reply>> next_of_reader();
  Status failure() const;

  redisReader* reader_;
  bool reads_ = false;          // the reader has bytes of a reply that is not complete, or of more
  std::string bytes_;           // fed, and not passed to the reader
  std::size_t begin_ = 0;       // of what is left of them
  std::size_t incomplete_ = 0;  // bytes fed since the last complete reply
};

}  // namespace holdfast::resp
