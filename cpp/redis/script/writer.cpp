#include "redis/script/writer.h"

#include <array>

#include "redis/resp/command.h"

namespace holdfast::script {

using resp::append_bulk;
using resp::append_count;

void Call::append_long(std::string_view bytes) {
  flush();
  out_ += bytes;
}

void Call::flush() {
  out_.append(piece_.data(), static_cast<std::size_t>(end_ - piece_.data()));
  end_ = piece_.data();
}

char* Call::add_long(std::size_t size) {
  flush();
  if (size + kFrame <= room()) return add(size);
  append_count(out_, '$', size);
  const std::size_t at = out_.size();
  out_.resize(at + size);
  out_ += "\r\n";
  return out_.data() + at;
}

Call& Call::add_long_number(std::int64_t number) {
  std::array<char, 1 + kMostDigits> digits;
  digits[0] = '-';
  const bool negative = number < 0;
  const auto bits = static_cast<std::uint64_t>(number);
  const char* const end = write_digits(digits.data() + 1, negative ? 0 - bits : bits);
  const char* const begin = digits.data() + (negative ? 0 : 1);
  return *this << std::string_view(begin, static_cast<std::size_t>(end - begin));
}

int load(std::string& out, const std::vector<const Script*>& scripts) {
  for (const Script* script : scripts) {
    out += resp::Command({"SCRIPT", "LOAD", script->text}).bytes();
  }
  return static_cast<int>(scripts.size());
}

Call Writer::call(const Script& script) {
  replies_ = script.replies;
  const bool as_it_is = !by_text_ || script.text.empty();
  if (!as_it_is || script.head.empty()) return begin(script, script.keys, script.args);
  return {out_, script.head};
}

Call Writer::call_about(const Script& script, std::size_t count, std::size_t keys_of_each) {
  replies_ = script.replies.about(count);
  return begin(script, keys_of_each * count, 1 + count);
}

Call Writer::call_with(const Script& script, std::size_t keys, std::size_t args) {
  replies_ = script.replies;
  return begin(script, keys, args);
}

Call Writer::begin(const Script& script, std::size_t keys, std::size_t args) {
  append_count(out_, '*', 3 + keys + args);
  append_bulk(out_, by_text_ ? "EVAL" : "EVALSHA");
  append_bulk(out_, by_text_ ? script.text : script.sha1);
  append_bulk(out_, std::to_string(keys));
  return {out_, {}};
}

void Writer::command(std::initializer_list<std::string_view> words, resp::ReplyKinds replies) {
  replies_ = replies;
  append_count(out_, '*', words.size());
  for (const std::string_view word : words) append_bulk(out_, word);
}

}  // namespace holdfast::script
