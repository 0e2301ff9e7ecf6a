#include "redis/resp/command.h"

#include <array>

#include "redis/base/digits.h"

namespace holdfast::resp {

void append_count(std::string& out, char type, std::size_t number) {
  std::array<char, kMostDigits> digits;
  const char* const end = write_digits(digits.data(), number);
  out.append(1, type).append(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out.append("\r\n");
}

void append_bulk(std::string& out, std::string_view text) {
  append_count(out, '$', text.size());
  out.append(text).append("\r\n");
}

Command::Command(const std::vector<std::string_view>& args) {
  append_count(bytes_, '*', args.size());
  for (const std::string_view arg : args) append_bulk(bytes_, arg);
}

}  // namespace holdfast::resp
