// Commands on sorted sets.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "support/commands.h"

namespace holdfast::simulation {

namespace {

bool before(const Ranked& one, const Ranked& other) {
  return one.score != other.score ? one.score < other.score : one.member < other.member;
}

std::string text_of(double score) {
  if (std::isinf(score)) return score > 0 ? "inf" : "-inf";
  char text[64];
  (void)std::snprintf(text, sizeof text, "%.17g", score);
  return text;
}

const Ranked* find(const SortedSet* set, const std::string& member) {
  if (set == nullptr) return nullptr;
  const auto found = std::find_if(set->begin(), set->end(),
                                  [&](const Ranked& one) { return one.member == member; });
  return found == set->end() ? nullptr : &*found;
}

bool take(SortedSet& set, const std::string& member) {
  const Ranked* found = find(&set, member);
  if (found == nullptr) return false;
  set.erase(set.begin() + (found - set.data()));
  return true;
}

void put(SortedSet& set, Ranked ranked) {
  (void)take(set, ranked.member);
  set.insert(std::upper_bound(set.begin(), set.end(), ranked, before), std::move(ranked));
}

// ZADD's conditions.
struct Conditions {
  bool only_new = false;
  bool only_old = false;
  bool only_greater = false;
  bool only_less = false;
  bool count_changes = false;

  bool admit(const Ranked* old, double score) const {
    if (old == nullptr) return !only_old;
    return !only_new && !(only_greater && score <= old->score) &&
           !(only_less && score >= old->score);
  }
};

Conditions conditions(const Words& words, std::size_t& at) {
  Conditions given;
  for (at = 2; at < words.size(); ++at) {
    const std::string option = lower(words[at]);
    if (option == "nx") {
      given.only_new = true;
    } else if (option == "xx") {
      given.only_old = true;
    } else if (option == "gt") {
      given.only_greater = true;
    } else if (option == "lt") {
      given.only_less = true;
    } else if (option == "ch") {
      given.count_changes = true;
    } else {
      break;
    }
  }
  return given;
}

// True when it counts.
bool add(SortedSet& set, Ranked ranked, const Conditions& given) {
  const Ranked* old = find(&set, ranked.member);
  if (!given.admit(old, ranked.score)) return false;
  const bool counts = old == nullptr || (given.count_changes && old->score != ranked.score);
  put(set, std::move(ranked));
  return counts;
}

Answer zadd(Keyspace& data, const Words& words) {
  std::size_t at = 0;
  const Conditions given = conditions(words, at);
  if (at == words.size() || (words.size() - at) % 2 != 0) throw syntax_error();
  for (std::size_t i = at; i < words.size(); i += 2) (void)score_of(words[i]);
  SortedSet& set = data.make<SortedSet>(words[1]);
  int counted = 0;
  for (; at < words.size(); at += 2) {
    counted += add(set, {score_of(words[at]), words[at + 1]}, given) ? 1 : 0;
  }
  if (set.empty()) data.erase(words[1]);
  return Answer::number(counted);
}

Answer zincrby(Keyspace& data, const Words& words) {
  const double amount = score_of(words[2]);
  SortedSet& set = data.make<SortedSet>(words[1]);
  const Ranked* old = find(&set, words[3]);
  const double sum = amount + (old == nullptr ? 0 : old->score);
  put(set, {sum, words[3]});
  return Answer::bulk(text_of(sum));
}

Answer zrem(Keyspace& data, const Words& words) {
  SortedSet* set = data.get<SortedSet>(words[1]);
  if (set == nullptr) return Answer::number(0);
  const auto gone = std::count_if(words.begin() + 2, words.end(),
                                  [&](const std::string& member) { return take(*set, member); });
  if (set->empty()) data.erase(words[1]);
  return Answer::number(gone);
}

Answer zscore(Keyspace& data, const Words& words) {
  const Ranked* found = find(data.get<SortedSet>(words[1]), words[2]);
  return found == nullptr ? Answer::nil() : Answer::bulk(text_of(found->score));
}

Answer zrank(Keyspace& data, const Words& words) {
  const SortedSet* set = data.get<SortedSet>(words[1]);
  const Ranked* found = find(set, words[2]);
  return found == nullptr ? Answer::nil() : Answer::number(found - set->data());
}

Answer zcard(Keyspace& data, const Words& words) {
  const SortedSet* set = data.get<SortedSet>(words[1]);
  return Answer::number(set == nullptr ? 0 : static_cast<std::int64_t>(set->size()));
}

// One end of a range of scores: "(1" leaves 1 out.
struct Bound {
  explicit Bound(const std::string& text) : open(!text.empty() && text[0] == '(') {
    try {
      score = score_of(open ? text.substr(1) : text);
    } catch (const Refusal&) {
      throw Refusal{"ERR min or max is not a float"};
    }
  }
  bool above(double other) const { return open ? score < other : score <= other; }
  bool below(double other) const { return open ? score > other : score >= other; }

  bool open;
  double score;
};

// The members with scores between the words 2 and 3.
SortedSet between(Keyspace& data, const Words& words) {
  const Bound least(words[2]);
  const Bound most(words[3]);
  SortedSet range;
  if (const SortedSet* set = data.get<SortedSet>(words[1])) {
    std::copy_if(set->begin(), set->end(), std::back_inserter(range), [&](const Ranked& one) {
      return least.above(one.score) && most.below(one.score);
    });
  }
  return range;
}

// The members with ranks between the words 2 and 3.
SortedSet by_rank(Keyspace& data, const Words& words) {
  std::int64_t first = integer_of(words[2]);
  std::int64_t last = integer_of(words[3]);
  const SortedSet* set = data.get<SortedSet>(words[1]);
  if (set == nullptr) return {};
  const auto size = static_cast<std::int64_t>(set->size());
  if (first < 0) first = std::max<std::int64_t>(first + size, 0);
  last = std::min(last < 0 ? last + size : last, size - 1);
  if (first > last) return {};
  return {set->begin() + first, set->begin() + last + 1};
}

Answer listed(SortedSet range, const Words& words, std::size_t at) {
  bool with_scores = false;
  for (; at < words.size(); ++at) {
    const std::string option = lower(words[at]);
    if (option == "withscores") {
      with_scores = true;
    } else if (option == "limit" && at + 2 < words.size()) {
      const auto skipped =
          std::min(static_cast<std::size_t>(integer_of(words[at + 1])), range.size());
      const auto most = static_cast<std::size_t>(integer_of(words[at + 2]));  // -1: all
      range.erase(range.begin(), range.begin() + static_cast<std::ptrdiff_t>(skipped));
      range.resize(std::min(range.size(), most));
      at += 2;
    } else {
      throw syntax_error();
    }
  }
  std::vector<Answer> all;
  for (const Ranked& one : range) {
    all.push_back(Answer::bulk(one.member));
    if (with_scores) all.push_back(Answer::bulk(text_of(one.score)));
  }
  return Answer::array(std::move(all));
}

Answer zrange(Keyspace& data, const Words& words) { return listed(by_rank(data, words), words, 4); }

Answer zrangebyscore(Keyspace& data, const Words& words) {
  return listed(between(data, words), words, 4);
}

Answer zcount(Keyspace& data, const Words& words) {
  return Answer::number(static_cast<std::int64_t>(between(data, words).size()));
}

Answer removed(Keyspace& data, const std::string& key, const SortedSet& range) {
  Words members{"zrem", key};
  for (const Ranked& one : range) members.push_back(one.member);
  return zrem(data, members);
}

Answer zremrangebyscore(Keyspace& data, const Words& words) {
  return removed(data, words[1], between(data, words));
}

Answer zremrangebyrank(Keyspace& data, const Words& words) {
  return removed(data, words[1], by_rank(data, words));
}

}  // namespace

const CommandTable& sorted_set_commands() {
  static const CommandTable table{
      {"zadd", {zadd, -4, true, true}},
      {"zincrby", {zincrby, 4, true, true}},
      {"zrem", {zrem, -3, true, false}},
      {"zscore", {zscore, 3, false, false}},
      {"zrank", {zrank, 3, false, false}},
      {"zcard", {zcard, 2, false, false}},
      {"zrange", {zrange, -4, false, false}},
      {"zrangebyscore", {zrangebyscore, -4, false, false}},
      {"zcount", {zcount, 4, false, false}},
      {"zremrangebyscore", {zremrangebyscore, 4, true, false}},
      {"zremrangebyrank", {zremrangebyrank, 4, true, false}},
  };
  return table;
}

}  // namespace holdfast::simulation
