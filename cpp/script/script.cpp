#include "script/script.h"

#include <array>
#include <charconv>

namespace holdfast::script {

namespace {

std::string_view decimal(std::int64_t number, std::array<char, 24>& digits) {
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), static_cast<std::size_t>(end - digits.data())};
}

void append_bulk(std::string& out, std::string_view text) {
  std::array<char, 24> digits;
  out += '$';
  out += decimal(static_cast<std::int64_t>(text.size()), digits);
  out += "\r\n";
  out += text;
  out += "\r\n";
}

}  // namespace

Call::Call(std::string& out, const Script& script, bool by_text, int keys, int args) : out_(out) {
  std::array<char, 24> digits;
  out_ += '*';
  out_ += decimal(3 + keys + args, digits);
  out_ += "\r\n";
  append_bulk(out_, by_text ? "EVAL" : "EVALSHA");
  append_bulk(out_, by_text ? script.text : script.sha1);
  append_bulk(out_, decimal(keys, digits));
}

Call& Call::operator<<(std::string_view parameter) {
  append_bulk(out_, parameter);
  return *this;
}

Call& Call::operator<<(std::int64_t parameter) {
  std::array<char, 24> digits;
  append_bulk(out_, decimal(parameter, digits));
  return *this;
}

}  // namespace holdfast::script
