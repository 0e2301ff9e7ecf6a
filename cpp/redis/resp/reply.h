#pragma once

// Replies: what they are, which of them a command can have, and what errors mean.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "redis/base/status.h"

struct redisReply;
struct redisReader;

namespace holdfast::resp {

// The kind of a reply. Text is a string of any bytes, or a double; a status is the server's own
// word ("OK"), in capital letters: other statuses are text, as fakeredis sends short strings so.
enum class ReplyKind : std::uint8_t { kNil, kInteger, kText, kStatus, kArray, kError };

std::string_view word_for(ReplyKind kind);  // "a status", for messages

// A reply that is no more than nil, an integer, two integers, or a short text, such as a fencing
// token.
struct PlainReply {
  static constexpr std::size_t kLongestText = 20;  // digits of any token

  std::optional<std::int64_t> integer;
  std::optional<std::uint8_t> text_size{};  // without this and `integer`: nil
  std::array<char, kLongestText> text_bytes{};
  std::optional<std::int64_t> second{};  // the second of an array of two, after `integer`

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
  explicit Reply(redisReply* owned) : Reply(owned, true) {}  // takes ownership
  explicit Reply(PlainReply plain) : plain_(plain), kind_(plain.kind()) {}

  ReplyKind kind() const { return kind_; }
  bool is_nil() const { return kind_ == ReplyKind::kNil; }
  bool is_error() const { return kind_ == ReplyKind::kError; }
  // An integer, or a boolean (0 or 1).
  bool is_integer() const { return kind_ == ReplyKind::kInteger; }
  // An array, a set, a push, or a map (name, value, name, value, ...).
  bool is_array() const { return kind_ == ReplyKind::kArray; }
  bool is_push() const { return push_; }  // not a reply to a command (RESP3)

  std::int64_t integer() const { return is_integer() ? *plain_.integer : 0; }  // 0: it is none
  // The text of a string, a status, an error (its first 1200 bytes) or a number; else empty.
  std::string_view text() const;
  std::size_t size() const;  // elements of an array; 0 for anything else

  // Element `index` of an array: the same accessors on a borrowed view. If this is not an array, or
  // has no such element: nil.
  std::string_view text_at(std::size_t index) const;
  std::int64_t integer_at(std::size_t index) const;

  // Element `index` itself, borrowed: it must not outlive this one.
  Reply at(std::size_t index) const;

  // The value after the text `name` in a map, which may be an array. Empty: there is none.
  std::string_view field(std::string_view name) const;

 private:
  friend class Reader;
  struct Free {
    bool owned;
    void operator()(redisReply* reply) const;
  };
  Reply(redisReply* reply, bool owned);

  std::unique_ptr<redisReply, Free> reply_{nullptr, Free{false}};  // null: it is plain_
  PlainReply plain_{};                                             // its integer, too
  ReplyKind kind_ = ReplyKind::kNil;
  bool push_ = false;
};

// The one at the beginning of these bytes, and how many of them it is; 0: there is none that is
// complete, or it is another reply.
struct PlainBeginning {
  PlainReply reply{};
  std::size_t size = 0;
};
PlainBeginning plain_beginning(std::string_view bytes);

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
  Result<std::optional<Reply>> next_of_reader();
  Status failure() const;

  redisReader* reader_;
  bool reads_ = false;          // the reader has bytes of a reply that is not complete, or of more
  std::string bytes_;           // fed, and not passed to the reader
  std::size_t begin_ = 0;       // where the rest of them begins
  std::size_t incomplete_ = 0;  // bytes fed since the last complete reply
};

// The version of hiredis that this is built with: "1.2.0".
std::string hiredis_version();

struct ArrayShape;

// The replies that a command can have beside an error, which any command can: their kinds, and the
// range of each. Any other reply is not the one to this command: requests and replies of its stream
// are out of step.
class ReplyKinds {
 public:
  // The form of an array. The first ones have integers as elements.
  enum class Array : std::uint8_t {
    kFew,     // two numbers, or three
    kPlaces,  // some of the numbers from 1 to the count, in order
    kEach,    // as many numbers as the count, none below 0
    kAny,     // anything
    kShaped,  // see ArrayShape
  };
  enum class Text : std::uint8_t {
    kAny,
    kDecimal,  // an integer of 64 bits in decimal digits
    kScore,    // a double, as of a sorted set
  };

  static constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

  constexpr ReplyKinds(ReplyKind kind) : bits_(bit(kind)) {}  // NOLINT: a single one
  static constexpr ReplyKinds any() { return ReplyKinds(std::uint8_t{0xff}); }

  // Either of these kinds, which have no ranges.
  constexpr ReplyKinds operator|(ReplyKinds other) const {
    return ReplyKinds(static_cast<std::uint8_t>(bits_ | other.bits_));
  }
  // An integer is one of these.
  constexpr ReplyKinds within(std::int64_t least, std::int64_t most) const {
    ReplyKinds made = *this;
    made.least_ = least;
    made.most_ = most;
    return made;
  }
  constexpr ReplyKinds texts_of(Text text) const {
    ReplyKinds made = *this;
    made.text_ = text;
    return made;
  }
  constexpr ReplyKinds decimal() const { return texts_of(Text::kDecimal); }
  constexpr ReplyKinds arrays_of(Array array) const {
    ReplyKinds made = *this;
    made.array_ = array;
    return made;
  }
  // `shape` outlives this.
  constexpr ReplyKinds arrays_of(const ArrayShape& shape) const {
    ReplyKinds made = arrays_of(Array::kShaped);
    made.shape_ = &shape;
    return made;
  }
  // The number of things that the command is about, for arrays of kPlaces and kEach; of kShaped the
  // number of elements, 0: as the shape has it.
  constexpr ReplyKinds about(std::size_t count) const {
    ReplyKinds made = *this;
    made.count_ = static_cast<std::uint32_t>(count);
    return made;
  }
  // Only with about() they say what an array is.
  constexpr bool count_things() const { return array_ == Array::kPlaces || array_ == Array::kEach; }

  constexpr bool operator==(const ReplyKinds& other) const {
    return bits_ == other.bits_ && text_ == other.text_ && array_ == other.array_ &&
           count_ == other.count_ && shape_ == other.shape_ && least_ == other.least_ &&
           most_ == other.most_;
  }

  bool allow(const Reply& reply) const;
  bool allow(const PlainReply& reply) const {
    const ReplyKind kind = reply.kind();
    if (!allow(kind)) return false;
    if (kind == ReplyKind::kInteger) return allow(*reply.integer);
    return kind == ReplyKind::kNil || fits(reply);
  }

 private:
  constexpr explicit ReplyKinds(std::uint8_t bits) : bits_(bits) {}
  static constexpr std::uint8_t bit(ReplyKind kind) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(kind));
  }
  constexpr bool allow(ReplyKind kind) const { return (bits_ & bit(kind)) != 0; }
  constexpr bool allow(std::int64_t number) const { return least_ <= number && number <= most_; }
  bool allow_text(std::string_view text) const;
  template <typename Element, typename Whole>
  bool allow_array(std::size_t size, const Element& element, const Whole& whole) const;
  bool allow_shaped(const Reply& reply) const;
  bool allow_size(std::size_t size) const;
  bool fits(const PlainReply& reply) const;  // whether a text or an array does

  std::uint8_t bits_;
  Text text_ = Text::kAny;
  Array array_ = Array::kAny;
  std::uint32_t count_ = 0;
  const ArrayShape* shape_ = nullptr;  // with kShaped
  std::int64_t least_ = kLeast;
  std::int64_t most_ = kMost;
};

constexpr ReplyKinds operator|(ReplyKind one, ReplyKind other) {
  return ReplyKinds(one) | ReplyKinds(other);
}

// An array of these elements, of which the last `repeated` come together any number of times.
struct ArrayRow {
  constexpr ArrayRow(const ReplyKinds* first, std::size_t count, std::size_t rest)
      : elements(first), size(count), repeated(rest) {}
  template <std::size_t count>
  constexpr explicit ArrayRow(const ReplyKinds (&all)[count], std::size_t rest = 0)
      : ArrayRow(all, count, rest) {}

  const ReplyKinds* elements;
  std::size_t size;
  std::size_t repeated;
};

// The arrays that a reply can be: any one of these. Where several have the same number of elements,
// they differ by an element: most often the first, a number, the tag.
struct ArrayShape {
  template <std::size_t count>
  constexpr explicit ArrayShape(const ArrayRow (&all)[count]) : rows(all), size(count) {}

  const ArrayRow* rows;
  std::size_t size;
};

// The meaning of an error reply for the sender of the command. Its word is the first of the reply:
// Redis makes them in createSharedObjects() (src/server.c), for a cluster in getNodeByQuery()
// (src/cluster.c), and Valkey has the same. The lint sees to it that no other file compares them.

// Which errors pass for which commands is one table in error_reply.cpp; docs/faults.md has it, too,
// under *Errors that pass*.

// A state of the server that passes by itself: a call tries again.
bool is_temporary(std::string_view text);
// The error passes, and that server will answer: it is starting, or busy.
bool passes_there(std::string_view text);
// The server does not work for the moment, whatever the command.
bool is_out_of_order(std::string_view text);
// The client's map of the cluster may be old: another server is the primary by now.
bool is_of_old_topology(std::string_view text);
// When a release tries again, which takes more time than a call has: until the lease is over.
enum class Pace : std::uint8_t {
  kNever,       // that error stays
  kSoon,        // it passes as for a call, or where people see to the server
  kEachSecond,  // the server refuses the client, for its password or where it comes from
};
Pace pace_of_release(std::string_view text);
// The server is a replica: to a command, or to one of its script, or to WAIT.
bool says_readonly(std::string_view text);
// The answer of a replica to a PING, if it is asked as a primary.
inline constexpr std::string_view kReplicaReply = "-READONLY it is a replica, as it says\r\n";
// What a server says in the place of the first reply, whatever was sent, when it hangs up: it has
// as many clients as it may, or its protected mode is for clients of the same machine. kOther: any
// other error, which may be a reply.
enum class Refusal : std::uint8_t { kOther, kFull, kProtected };
Refusal refusal_of_client(std::string_view text);
// The server does not know the script of the command, of which it has executed nothing.
bool is_unknown_script(std::string_view text);

// The server lacks a command that a script has called: on which line of the script, from 1 on;
// nothing: it is another error.
std::optional<std::size_t> line_of_unknown_command(std::string_view text);

// Its word (READONLY, OOM, ...), also where the server wraps what a script has met.
std::string_view error_word(std::string_view text);

// The reply without what the server wraps around an error that a script has met.
std::string_view error_text(std::string_view text);

}  // namespace holdfast::resp
