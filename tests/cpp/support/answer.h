#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::simulation {

// A command, or what is left of one: its name and its arguments.
using Words = std::vector<std::string>;

// What the double of the server answers: RESP2.
struct Answer {
  enum class Kind { kNil, kStatus, kError, kInteger, kBulk, kArray };

  static Answer nil() { return {}; }
  static Answer status(std::string text) { return {Kind::kStatus, 0, std::move(text), {}}; }
  static Answer error(std::string text) { return {Kind::kError, 0, std::move(text), {}}; }
  static Answer number(std::int64_t value) { return {Kind::kInteger, value, {}, {}}; }
  static Answer bulk(std::string text) { return {Kind::kBulk, 0, std::move(text), {}}; }
  static Answer array(std::vector<Answer> elements) {
    return {Kind::kArray, 0, {}, std::move(elements)};
  }

  bool is(Kind other) const { return kind == other; }
  void append_to(std::string& bytes) const;
  std::string bytes() const {
    std::string all;
    append_to(all);
    return all;
  }

  Kind kind = Kind::kNil;
  std::int64_t integer = 0;
  std::string text;
  std::vector<Answer> elements;
};

// Thrown by a command that is not carried out; `text` is the error as the client gets it.
struct Refusal {
  std::string text;
};

}  // namespace holdfast::simulation
