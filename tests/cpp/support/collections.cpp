// Commands on hashes and lists.

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "support/commands.h"

namespace holdfast::simulation {

namespace {

// What is empty is no key any more.
template <typename Type>
void drop_if_empty(Keyspace& data, const std::string& key, const Type& value) {
  if (value.empty()) data.erase(key);
}

Hash::iterator at(Hash& hash, const std::string& field) {
  return std::find_if(hash.begin(), hash.end(),
                      [&](const auto& pair) { return pair.first == field; });
}

bool put(Hash& hash, const std::string& field, std::string value) {
  const auto found = at(hash, field);
  if (found == hash.end()) {
    hash.emplace_back(field, std::move(value));
    return true;
  }
  found->second = std::move(value);
  return false;
}

Answer optional_bulk(const std::string* text) {
  return text == nullptr ? Answer::nil() : Answer::bulk(*text);
}

Answer hset(Keyspace& data, const Words& words) {
  if (words.size() % 2 != 0) throw Refusal{"ERR wrong number of arguments for 'hset' command"};
  Hash& hash = data.make<Hash>(words[1]);
  int added = 0;
  for (std::size_t i = 2; i < words.size(); i += 2)
    added += put(hash, words[i], words[i + 1]) ? 1 : 0;
  return Answer::number(added);
}

Answer hsetnx(Keyspace& data, const Words& words) {
  Hash& hash = data.make<Hash>(words[1]);
  const bool there = field_of(hash, words[2]) != nullptr;
  if (!there) put(hash, words[2], words[3]);
  return Answer::number(there ? 0 : 1);
}

Answer hget(Keyspace& data, const Words& words) {
  const Hash* hash = data.get<Hash>(words[1]);
  return hash == nullptr ? Answer::nil() : optional_bulk(field_of(*hash, words[2]));
}

Answer hmget(Keyspace& data, const Words& words) {
  const Hash* hash = data.get<Hash>(words[1]);
  std::vector<Answer> values;
  for (std::size_t i = 2; i < words.size(); ++i) {
    values.push_back(hash == nullptr ? Answer::nil() : optional_bulk(field_of(*hash, words[i])));
  }
  return Answer::array(std::move(values));
}

Answer parts_of(Keyspace& data, const std::string& key, bool names, bool values) {
  std::vector<Answer> all;
  if (const Hash* hash = data.get<Hash>(key)) {
    for (const auto& [name, value] : *hash) {
      if (names) all.push_back(Answer::bulk(name));
      if (values) all.push_back(Answer::bulk(value));
    }
  }
  return Answer::array(std::move(all));
}

Answer hgetall(Keyspace& data, const Words& words) { return parts_of(data, words[1], true, true); }
Answer hkeys(Keyspace& data, const Words& words) { return parts_of(data, words[1], true, false); }
Answer hvals(Keyspace& data, const Words& words) { return parts_of(data, words[1], false, true); }

Answer hdel(Keyspace& data, const Words& words) {
  Hash* hash = data.get<Hash>(words[1]);
  if (hash == nullptr) return Answer::number(0);
  int gone = 0;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto found = at(*hash, words[i]);
    if (found == hash->end()) continue;
    hash->erase(found);
    ++gone;
  }
  drop_if_empty(data, words[1], *hash);
  return Answer::number(gone);
}

Answer hexists(Keyspace& data, const Words& words) {
  const Hash* hash = data.get<Hash>(words[1]);
  return Answer::number(hash != nullptr && field_of(*hash, words[2]) != nullptr ? 1 : 0);
}

Answer hlen(Keyspace& data, const Words& words) {
  const Hash* hash = data.get<Hash>(words[1]);
  return Answer::number(hash == nullptr ? 0 : static_cast<std::int64_t>(hash->size()));
}

Answer hincrby(Keyspace& data, const Words& words) {
  const std::int64_t amount = integer_of(words[3]);
  const Hash* hash = data.get<Hash>(words[1]);
  const std::string* old = hash == nullptr ? nullptr : field_of(*hash, words[2]);
  std::int64_t sum = amount;
  try {
    if (old != nullptr) sum += integer_of(*old);
  } catch (const Refusal&) {
    throw Refusal{"ERR hash value is not an integer"};
  }
  put(data.make<Hash>(words[1]), words[2], std::to_string(sum));
  return Answer::number(sum);
}

Answer push(Keyspace& data, const Words& words, bool left) {
  List& list = data.make<List>(words[1]);
  for (std::size_t i = 2; i < words.size(); ++i) {
    list.insert(left ? list.begin() : list.end(), words[i]);
  }
  return Answer::number(static_cast<std::int64_t>(list.size()));
}

Answer lpush(Keyspace& data, const Words& words) { return push(data, words, true); }
Answer rpush(Keyspace& data, const Words& words) { return push(data, words, false); }

Answer pop(Keyspace& data, const Words& words, bool left) {
  if (words.size() > 2) throw syntax_error();
  List* list = data.get<List>(words[1]);
  if (list == nullptr) return Answer::nil();
  const auto which = left ? list->begin() : list->end() - 1;
  Answer answer = Answer::bulk(*which);
  list->erase(which);
  drop_if_empty(data, words[1], *list);
  return answer;
}

Answer lpop(Keyspace& data, const Words& words) { return pop(data, words, true); }
Answer rpop(Keyspace& data, const Words& words) { return pop(data, words, false); }

Answer llen(Keyspace& data, const Words& words) {
  const List* list = data.get<List>(words[1]);
  return Answer::number(list == nullptr ? 0 : static_cast<std::int64_t>(list->size()));
}

Answer lindex(Keyspace& data, const Words& words) {
  const List* list = data.get<List>(words[1]);
  if (list == nullptr) return Answer::nil();
  const auto size = static_cast<std::int64_t>(list->size());
  std::int64_t index = integer_of(words[2]);
  if (index < 0) index += size;
  if (index < 0 || index >= size) return Answer::nil();
  return Answer::bulk((*list)[static_cast<std::size_t>(index)]);
}

Answer lrange(Keyspace& data, const Words& words) {
  std::int64_t first = integer_of(words[2]);
  std::int64_t last = integer_of(words[3]);
  std::vector<Answer> range;
  if (const List* list = data.get<List>(words[1])) {
    const auto size = static_cast<std::int64_t>(list->size());
    if (first < 0) first = std::max<std::int64_t>(first + size, 0);
    if (last < 0) last += size;
    for (std::int64_t i = first; i <= std::min(last, size - 1); ++i) {
      range.push_back(Answer::bulk((*list)[static_cast<std::size_t>(i)]));
    }
  }
  return Answer::array(std::move(range));
}

Answer lrem(Keyspace& data, const Words& words) {
  const std::int64_t count = integer_of(words[2]);
  List* list = data.get<List>(words[1]);
  if (list == nullptr) return Answer::number(0);
  const std::int64_t most = count == 0 ? INT64_MAX : std::abs(count);
  std::int64_t gone = 0;
  if (count < 0) std::reverse(list->begin(), list->end());
  const auto matches = [&](const std::string& item) {
    return item == words[3] && gone < most && ++gone > 0;
  };
  list->erase(std::remove_if(list->begin(), list->end(), std::ref(matches)), list->end());
  if (count < 0) std::reverse(list->begin(), list->end());
  drop_if_empty(data, words[1], *list);
  return Answer::number(gone);
}

}  // namespace

const CommandTable& hash_commands() {
  static const CommandTable table{
      {"hset", {hset, -4, true, true}},        {"hsetnx", {hsetnx, 4, true, true}},
      {"hget", {hget, 3, false, false}},       {"hmget", {hmget, -3, false, false}},
      {"hgetall", {hgetall, 2, false, false}}, {"hkeys", {hkeys, 2, false, false}},
      {"hvals", {hvals, 2, false, false}},     {"hdel", {hdel, -3, true, false}},
      {"hexists", {hexists, 3, false, false}}, {"hlen", {hlen, 2, false, false}},
      {"hincrby", {hincrby, 4, true, true}},
  };
  return table;
}

const CommandTable& list_commands() {
  static const CommandTable table{
      {"lpush", {lpush, -3, true, true}},    {"rpush", {rpush, -3, true, true}},
      {"lpop", {lpop, -2, true, false}},     {"rpop", {rpop, -2, true, false}},
      {"llen", {llen, 2, false, false}},     {"lindex", {lindex, 3, false, false}},
      {"lrange", {lrange, 4, false, false}}, {"lrem", {lrem, 4, true, false}},
  };
  return table;
}

}  // namespace holdfast::simulation
