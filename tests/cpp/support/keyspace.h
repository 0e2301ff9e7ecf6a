#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/answer.h"

namespace holdfast::simulation {

// What a key may hold.
using Hash = std::vector<std::pair<std::string, std::string>>;  // in order of insertion
using List = std::deque<std::string>;
struct Ranked {
  double score = 0;
  std::string member;
};
using SortedSet = std::vector<Ranked>;  // by score, then by member

// The data of a server: its keys, what they hold, and when they expire by the server's clock.
class Keyspace {
 public:
  struct Entry {
    std::variant<std::string, Hash, List, SortedSet> value;
    std::optional<std::int64_t> expires;  // in the server's milliseconds
  };

  // Time goes on only here; what has expired is gone.
  void set_time(std::int64_t microseconds) { time_ = microseconds; }
  std::int64_t microseconds() const { return time_; }
  std::int64_t milliseconds() const { return time_ / 1000; }

  Entry* find(const std::string& key);
  std::int64_t pttl(const std::string& key);  // -1: never expires, -2: not there
  bool erase(const std::string& key);
  void clear() { entries_.clear(); }
  std::vector<std::string> keys();

  // What a key of that type holds; null where there is no such key. Throws Refusal for another
  // type.
  template <typename Type>
  Type* get(const std::string& key) {
    Entry* entry = find(key);
    if (entry == nullptr) return nullptr;
    Type* value = std::get_if<Type>(&entry->value);
    if (value == nullptr) throw wrong_type();
    return value;
  }
  // The same, made where it is missing.
  template <typename Type>
  Type& make(const std::string& key) {
    Type* value = get<Type>(key);
    return value != nullptr ? *value : std::get<Type>((entries_[key] = {Type{}, {}}).value);
  }
  void set(const std::string& key, Entry entry) { entries_[key] = std::move(entry); }

 private:
  static Refusal wrong_type() {
    return {"WRONGTYPE Operation against a key holding the wrong kind of value"};
  }

  std::map<std::string, Entry> entries_;
  std::int64_t time_ = 0;
};

// A field's value; null where there is none.
inline const std::string* field_of(const Hash& hash, const std::string& field) {
  for (const auto& [name, value] : hash) {
    if (name == field) return &value;
  }
  return nullptr;
}

}  // namespace holdfast::simulation
