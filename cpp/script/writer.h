#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "resp/reply_kinds.h"
#include "script/script.h"

namespace holdfast::script {

// Of a command that reads a number, such as HGET: a string, or where the server keeps numbers as
// such (fakeredis), an integer; nil where there is none.
inline constexpr resp::ReplyKinds kNumberReplies =
    resp::ReplyKind::kNil | resp::ReplyKind::kText | resp::ReplyKind::kInteger;

// The parameters of one call, in the order of its keys and arguments.
class Call {
 public:
  explicit Call(std::string& out) : out_(out) {}
  Call& operator<<(std::string_view parameter);
  Call& operator<<(std::int64_t parameter);

 private:
  std::string& out_;
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

  // Begins a call of a script; its keys and arguments follow.
  Call call(const Script& script);
  // Begins a call of a script about `count` things: the keys of each, one argument, and an argument
  // of each follow. Its reply is about as many.
  Call call_about(const Script& script, std::size_t count, int keys_of_each);
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
