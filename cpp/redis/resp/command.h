#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::resp {

// A line that counts something: `type` says what.
void append_count(std::string& out, char type, std::size_t number);
// A string of any bytes.
void append_bulk(std::string& out, std::string_view text);

// A command, encoded once; arguments may hold any byte.
class Command {
 public:
  Command() = default;
  Command(std::initializer_list<std::string_view> args)
      : Command(std::vector<std::string_view>(args)) {}
  explicit Command(const std::vector<std::string_view>& args);

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace holdfast::resp
