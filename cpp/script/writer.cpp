#include "script/writer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "resp/command.h"

namespace holdfast::script {

namespace {

constexpr std::string_view kEnd = "\r\n";
constexpr std::string_view kBySha1 = "$7\r\nEVALSHA\r\n$40\r\n";  // a SHA1 follows

// `type`: what the number counts. The functions here append few pieces: writing the command is a
// large part of the client's cost of an operation, especially of a renewal.
void append_count(std::string& out, char type, std::size_t number) {
  std::array<char, 24> line;
  line[0] = type;
  char* end = std::to_chars(line.data() + 1, line.data() + line.size(), number).ptr;
  end = std::copy(kEnd.begin(), kEnd.end(), end);
  out.append(line.data(), static_cast<std::size_t>(end - line.data()));
}

void append_bulk(std::string& out, std::string_view text) {
  append_count(out, '$', text.size());
  out += text;
  out += kEnd;
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

Call Writer::call(const Script& script, int keys, int args) {
  replies_ = script.replies;
  const auto parameters = static_cast<std::size_t>(keys) + static_cast<std::size_t>(args);
  append_count(out_, '*', 3 + parameters);
  if (by_text_) {
    append_bulk(out_, "EVAL");
    append_bulk(out_, script.text);
  } else {
    out_ += kBySha1;
    out_ += script.sha1;
    out_ += kEnd;
  }
  Call call(out_);
  call << keys;
  return call;
}

void Writer::command(std::initializer_list<std::string_view> words, resp::ReplyKinds replies) {
  replies_ = replies;
  out_ += resp::Command(words).bytes();
}

}  // namespace holdfast::script
