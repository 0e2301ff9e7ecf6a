#include "support/commands.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace holdfast::simulation {

namespace {

template <typename Value>
std::optional<Value> parsed(const std::string& text, Value (*convert)(const char*, char**)) {
  char* end = nullptr;
  const Value value = convert(text.c_str(), &end);
  if (text.empty() || *end != '\0' || std::isspace(static_cast<unsigned char>(text[0])) != 0) {
    return std::nullopt;
  }
  return value;
}

// Keys of any type.

Answer exists(Keyspace& data, const Words& words) {
  return Answer::number(std::count_if(words.begin() + 1, words.end(), [&](const std::string& key) {
    return data.find(key) != nullptr;
  }));
}

Answer del(Keyspace& data, const Words& words) {
  return Answer::number(std::count_if(words.begin() + 1, words.end(),
                                      [&](const std::string& key) { return data.erase(key); }));
}

Answer type(Keyspace& data, const Words& words) {
  constexpr const char* kTypes[] = {"string", "hash", "list", "zset"};
  const Keyspace::Entry* entry = data.find(words[1]);
  return Answer::status(entry == nullptr ? "none" : kTypes[entry->value.index()]);
}

Answer pttl(Keyspace& data, const Words& words) { return Answer::number(data.pttl(words[1])); }

Answer ttl(Keyspace& data, const Words& words) {
  const std::int64_t left = data.pttl(words[1]);
  return Answer::number(left < 0 ? left : (left + 500) / 1000);
}

Answer expire_at(Keyspace& data, const std::string& key, std::int64_t when) {
  Keyspace::Entry* entry = data.find(key);
  if (entry == nullptr) return Answer::number(0);
  entry->expires = when;
  if (when <= data.milliseconds()) data.erase(key);
  return Answer::number(1);
}

std::int64_t lease_of(const Words& words) {
  const std::int64_t time = integer_of(words[2]);
  const std::int64_t longest = INT64_MAX / 2;
  if (time > longest || time < -longest) {
    throw Refusal{"ERR invalid expire time in '" + lower(words[0]) + "' command"};
  }
  return time;
}

Answer pexpire(Keyspace& data, const Words& words) {
  return expire_at(data, words[1], data.milliseconds() + lease_of(words));
}

Answer expire(Keyspace& data, const Words& words) {
  return expire_at(data, words[1], data.milliseconds() + lease_of(words) * 1000);
}

Answer pexpireat(Keyspace& data, const Words& words) {
  return expire_at(data, words[1], lease_of(words));
}

Answer persist(Keyspace& data, const Words& words) {
  Keyspace::Entry* entry = data.find(words[1]);
  const bool changed = entry != nullptr && entry->expires;
  if (changed) entry->expires.reset();
  return Answer::number(changed ? 1 : 0);
}

Answer time(Keyspace& data, const Words& /*words*/) {
  const std::int64_t now = data.microseconds();
  return Answer::array({Answer::bulk(std::to_string(now / 1'000'000)),
                        Answer::bulk(std::to_string(now % 1'000'000))});
}

Answer flushall(Keyspace& data, const Words& /*words*/) {
  data.clear();
  return Answer::status("OK");
}

// Strings.

Answer get(Keyspace& data, const Words& words) {
  const std::string* value = data.get<std::string>(words[1]);
  return value == nullptr ? Answer::nil() : Answer::bulk(*value);
}

Answer getdel(Keyspace& data, const Words& words) {
  const Answer answer = get(data, words);
  data.erase(words[1]);
  return answer;
}

struct SetOptions {
  bool only_new = false;
  bool only_old = false;
  bool keep_ttl = false;
  std::optional<std::int64_t> expires;
};

SetOptions set_options(const Keyspace& data, const Words& words) {
  SetOptions options;
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::string option = lower(words[i]);
    if (option == "nx") {
      options.only_new = true;
    } else if (option == "xx") {
      options.only_old = true;
    } else if (option == "keepttl") {
      options.keep_ttl = true;
    } else if ((option == "px" || option == "ex") && i + 1 < words.size()) {
      const std::int64_t time = integer_of(words[++i]) * (option == "px" ? 1 : 1000);
      if (time <= 0) throw Refusal{"ERR invalid expire time in 'set' command"};
      options.expires = data.milliseconds() + time;
    } else {
      throw syntax_error();
    }
  }
  return options;
}

Answer set(Keyspace& data, const Words& words) {
  const SetOptions options = set_options(data, words);
  const Keyspace::Entry* old = data.find(words[1]);
  if ((options.only_new && old != nullptr) || (options.only_old && old == nullptr)) {
    return Answer::nil();
  }
  const bool kept = options.keep_ttl && old != nullptr;
  data.set(words[1], {words[2], kept ? old->expires : options.expires});
  return Answer::status("OK");
}

Answer add(Keyspace& data, const std::string& key, std::int64_t amount) {
  std::string* value = data.get<std::string>(key);
  const std::int64_t old = value == nullptr ? 0 : integer_of(*value);
  std::int64_t sum = 0;
  if (__builtin_add_overflow(old, amount, &sum)) {
    throw Refusal{"ERR increment or decrement would overflow"};
  }
  data.make<std::string>(key) = std::to_string(sum);
  return Answer::number(sum);
}

Answer incr(Keyspace& data, const Words& words) { return add(data, words[1], 1); }
Answer decr(Keyspace& data, const Words& words) { return add(data, words[1], -1); }
Answer incrby(Keyspace& data, const Words& words) {
  return add(data, words[1], integer_of(words[2]));
}
Answer decrby(Keyspace& data, const Words& words) {
  return add(data, words[1], -integer_of(words[2]));
}

CommandTable key_and_string_commands() {
  return {
      {"exists", {exists, -2, false, false}},
      {"del", {del, -2, true, false}},
      {"unlink", {del, -2, true, false}},
      {"type", {type, 2, false, false}},
      {"pttl", {pttl, 2, false, false}},
      {"ttl", {ttl, 2, false, false}},
      {"pexpire", {pexpire, 3, true, false}},
      {"expire", {expire, 3, true, false}},
      {"pexpireat", {pexpireat, 3, true, false}},
      {"persist", {persist, 2, true, false}},
      {"time", {time, 1, false, false}},
      {"flushall", {flushall, -1, true, false}},
      {"get", {get, 2, false, false}},
      {"getdel", {getdel, 2, true, false}},
      {"set", {set, -3, true, true}},
      {"incr", {incr, 2, true, true}},
      {"decr", {decr, 2, true, true}},
      {"incrby", {incrby, 3, true, true}},
      {"decrby", {decrby, 3, true, true}},
  };
}

}  // namespace

std::string lower(std::string text) {
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

Refusal syntax_error() { return {"ERR syntax error"}; }

std::int64_t integer_of(const std::string& text) {
  constexpr auto kConvert = [](const char* from, char** end) -> std::int64_t {
    return std::strtoll(from, end, 10);
  };
  const auto value = parsed<std::int64_t>(text, kConvert);
  if (!value || std::to_string(*value) != text) {
    throw Refusal{"ERR value is not an integer or out of range"};
  }
  return *value;
}

double score_of(const std::string& text) {
  const auto value = parsed<double>(text, std::strtod);
  if (!value || std::isnan(*value)) throw Refusal{"ERR value is not a valid float"};
  return *value;
}

const CommandTable& data_commands() {
  static const CommandTable all = [] {
    CommandTable table = key_and_string_commands();
    for (const CommandTable& more : {hash_commands(), list_commands(), sorted_set_commands()}) {
      table.insert(more.begin(), more.end());
    }
    return table;
  }();
  return all;
}

const DataCommand* data_command(const std::string& name) {
  const auto found = data_commands().find(lower(name));
  return found == data_commands().end() ? nullptr : &found->second;
}

}  // namespace holdfast::simulation
