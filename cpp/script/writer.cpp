#include "script/writer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "resp/command.h"

namespace holdfast::script {

namespace {

constexpr std::string_view kEnd = "\r\n";
constexpr std::string_view kBySha1 = "$7\r\nEVALSHA\r\n$40\r\n";  // a SHA1 follows

constexpr std::size_t kLongestCount = 24;  // a type, 20 digits, and the end

// Writes a line that counts something: `type` says what. Sizes are mostly below 100, for which
// std::to_chars() takes longer than the digits.
char* write_count(char* to, char type, std::size_t number) {
  constexpr std::size_t kTen = 10;
  *to++ = type;
  if (number < kTen * kTen) {
    if (number >= kTen) *to++ = static_cast<char>('0' + number / kTen);
    *to++ = static_cast<char>('0' + number % kTen);
  } else {
    to = std::to_chars(to, to + kLongestCount - 3, number).ptr;
  }
  return std::copy(kEnd.begin(), kEnd.end(), to);
}

void append_count(std::string& out, char type, std::size_t number) {
  std::array<char, kLongestCount> line;
  char* const end = write_count(line.data(), type, number);
  out.append(line.data(), static_cast<std::size_t>(end - line.data()));
}

// A short text is appended in one piece: writing the command is a large part of the client's cost
// of an operation, especially of a renewal.
void append_bulk(std::string& out, std::string_view text) {
  constexpr std::size_t kShort = 100;
  if (text.size() > kShort) {
    append_count(out, '$', text.size());
    out += text;
    out += kEnd;
    return;
  }
  std::array<char, kLongestCount + kShort + kEnd.size()> piece;
  char* end = write_count(piece.data(), '$', text.size());
  end = std::copy(text.begin(), text.end(), end);
  end = std::copy(kEnd.begin(), kEnd.end(), end);
  out.append(piece.data(), static_cast<std::size_t>(end - piece.data()));
}

}  // namespace

Call& Call::operator<<(std::string_view parameter) {
  append_bulk(out_, parameter);
  return *this;
}

Call& Call::operator<<(std::int64_t parameter) {
  std::array<char, 24> digits;
  const char* const end =
      std::to_chars(digits.data(), digits.data() + digits.size(), parameter).ptr;
  append_bulk(out_, {digits.data(), static_cast<std::size_t>(end - digits.data())});
  return *this;
}

int load(std::string& out, const std::vector<const Script*>& scripts) {
  for (const Script* script : scripts) {
    out += resp::Command({"SCRIPT", "LOAD", script->text}).bytes();
  }
  return static_cast<int>(scripts.size());
}

Call Writer::call(const Script& script) {
  replies_ = script.replies;
  if (by_text_ || script.head.empty()) return begin(script, script.keys, script.args);
  out_ += script.head;
  return Call(out_);
}

Call Writer::call_about(const Script& script, std::size_t count, int keys_of_each) {
  replies_ = script.replies.about(count);
  return begin(script, static_cast<std::size_t>(keys_of_each) * count, 1 + count);
}

Call Writer::begin(const Script& script, std::size_t keys, std::size_t args) {
  append_count(out_, '*', 3 + keys + args);
  if (by_text_) {
    append_bulk(out_, "EVAL");
    append_bulk(out_, script.text);
  } else {
    out_ += kBySha1;
    out_ += script.sha1;
    out_ += kEnd;
  }
  Call call(out_);
  call << static_cast<std::int64_t>(keys);
  return call;
}

void Writer::command(std::initializer_list<std::string_view> words, resp::ReplyKinds replies) {
  replies_ = replies;
  out_ += resp::Command(words).bytes();
}

}  // namespace holdfast::script
