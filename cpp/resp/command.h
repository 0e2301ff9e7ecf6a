#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::resp {

// A command, encoded once (hiredis' formatter); arguments may hold any byte.
class Command {
 public:
  Command() = default;
  Command(std::initializer_list<std::string_view> args);
  explicit Command(const std::vector<std::string_view>& args);

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace holdfast::resp
