#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "support/answer.h"
#include "support/keyspace.h"

namespace holdfast::simulation {

// A command on the data, as Redis 7 carries it out. double_test.cpp compares all of them with a
// real server.
struct DataCommand {
  Answer (*run)(Keyspace& data, const Words& words);
  int words;  // how many it has; negative: at least
  bool writes;
  bool grows;  // refused when memory is short
};

using CommandTable = std::unordered_map<std::string, DataCommand>;

// All there are, by their names in lower case.
const CommandTable& data_commands();
// Null when the double does not know it. `name` in any case.
const DataCommand* data_command(const std::string& name);

// For commands: an argument as a number; throws Refusal.
std::int64_t integer_of(const std::string& text);
double score_of(const std::string& text);
std::string lower(std::string text);
Refusal syntax_error();

// By the type of what they work on.
const CommandTable& hash_commands();
const CommandTable& list_commands();
const CommandTable& sorted_set_commands();

}  // namespace holdfast::simulation
