#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "redis/base/digits.h"
#include "redis/resp/reply.h"

namespace holdfast::script {

// A Lua script: one atomic step on the server. The build embeds them from lua/ (lua_scripts.h).
struct Script {
  std::string_view name;  // "lock/acquire"
  std::string_view sha1;
  std::string_view text;
  resp::ReplyKinds replies = resp::ReplyKinds::any();  // as its header names them
  // The numbers of its keys and arguments, and its call by SHA1, in RESP, up to the first key;
  // empty for a script that takes any number of them.
  std::size_t keys = 0;
  std::size_t args = 0;
  std::string_view head{};
};

// The reply of a command that reads a number, such as HGET: a string, or where the server keeps
// numbers as such (fakeredis), an integer; nil where there is none.
inline constexpr resp::ReplyKinds kNumberReplies =
    resp::ReplyKind::kNil | resp::ReplyKind::kText | resp::ReplyKind::kInteger;

// The parameters of one call, in the order of its keys and arguments. They are appended to the
// command in few pieces: writing it is a large part of the client's cost of an operation. (Of
// hiredis only the reader is used.)
class Call {
 public:
  // `begin`: what stands before the parameters.
  Call(std::string& out, std::string_view begin) : out_(out) { append(begin); }
  ~Call() { flush(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Call& operator<<(std::string_view parameter) {
    copy(add(parameter.size()), parameter);
    return *this;
  }
  Call& operator<<(std::int64_t parameter) {
    constexpr std::int64_t kTen = 10;
    if (parameter < 0 || parameter >= kTen) return add_long_number(parameter);
    *add(1) = static_cast<char>('0' + parameter);
    return *this;
  }
  // One parameter of that size, whose bytes are to be written there at once.
  char* add(std::size_t size) {
    if (size + kFrame > room()) return add_long(size);
    *end_ = '$';
    char* const text = end_line(write_digits(end_ + 1, size));
    end_ = end_line(text + size);
    return text;
  }

 private:
  static constexpr std::size_t kPiece = 512;
  static constexpr std::size_t kFrame = 1 + kMostDigits + 2 + 2;  // what surrounds a parameter

  // Most parameters are short: a call of std::memcpy() takes longer than these.
  static void copy(char* to, std::string_view from) {
    constexpr std::size_t kHalf = 8;
    if (from.size() < kHalf || from.size() > 2 * kHalf) {
      std::copy(from.begin(), from.end(), to);
      return;
    }
    std::memcpy(to, from.data(), kHalf);
    const std::size_t rest = from.size() - kHalf;
    std::memcpy(to + rest, from.data() + rest, kHalf);
  }
  static char* end_line(char* to) {
    to[0] = '\r';
    to[1] = '\n';
    return to + 2;
  }

  std::size_t room() const { return kPiece - static_cast<std::size_t>(end_ - piece_.data()); }
  void append(std::string_view bytes) {
    if (bytes.size() > room()) return append_long(bytes);
    end_ = std::copy(bytes.begin(), bytes.end(), end_);
  }
  void append_long(std::string_view bytes);
  void flush();
  char* add_long(std::size_t size);
  Call& add_long_number(std::int64_t number);

  std::string& out_;
  std::array<char, kPiece> piece_;  // what is not appended yet
  char* end_ = piece_.data();
};

// Appends commands that load these scripts. Returns their number.
int load(std::string& out, const std::vector<const Script*>& scripts);

// Appends commands, in RESP, to a buffer. It hides from the steps how a script is sent: by its
// SHA1, or with its whole text to a server that does not know it yet (NOSCRIPT).
class Writer {
 public:
  // `publish`: the command by which scripts publish, of the client's topology; without one, only
  // for steps that publish nothing.
  Writer(std::string& out, bool by_text, std::string_view publish = {})
      : out_(out), by_text_(by_text), publish_(publish) {}

  // Begins a call of a script, or a plain command; its keys and arguments follow.
  Call call(const Script& script);
  // Begins a call of a script that takes any number of arguments.
  Call call_with(const Script& script, std::size_t keys, std::size_t args);
  // Begins a call of a script about `count` things: the keys of each, one argument, and an argument
  // of each follow. Its reply is about as many.
  Call call_about(const Script& script, std::size_t count, std::size_t keys_of_each);
  // A plain command.
  void command(std::initializer_list<std::string_view> words, resp::ReplyKinds replies);
  // The reply to the latest of these is a number within.
  void expect(std::int64_t least, std::int64_t most) { replies_ = replies_.within(least, most); }
  // That the latest of these can have.
  resp::ReplyKinds replies() const { return replies_; }
  // A script's argument, where it publishes.
  std::string_view publish() const { return publish_; }

 private:
  Call begin(const Script& script, std::size_t keys, std::size_t args);

  std::string& out_;
  const bool by_text_;
  const std::string_view publish_;
  resp::ReplyKinds replies_ = resp::ReplyKinds::any();
};

}  // namespace holdfast::script
