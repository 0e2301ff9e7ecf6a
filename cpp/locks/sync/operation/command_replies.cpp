#include "locks/sync/operation/command_replies.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "lua_scripts.h"
#include "redis/client.h"
#include "redis/script/writer.h"

namespace holdfast::sync {

namespace {

using resp::ArrayRow;
using resp::ArrayShape;
using resp::ReplyKind;
using resp::ReplyKinds;
using Words = std::vector<std::string>;

constexpr ReplyKinds kText = ReplyKind::kText;
constexpr ReplyKinds kTextOrNil = ReplyKind::kText | ReplyKind::kNil;
constexpr ReplyKinds kDecimal = kText.decimal();
constexpr ReplyKinds kScore = kText.texts_of(ReplyKinds::Text::kScore);
constexpr ReplyKinds from(std::int64_t least) {
  return ReplyKinds(ReplyKind::kInteger).within(least, ReplyKinds::kMost);
}
constexpr ReplyKinds kArray = ReplyKind::kArray;

constexpr ReplyKinds kTextElements[] = {kText};
constexpr ArrayRow kTextRows[] = {ArrayRow(kTextElements, 1)};
constexpr ArrayShape kTexts(kTextRows);

constexpr ReplyKinds kTextOrNilElements[] = {kTextOrNil};
constexpr ArrayRow kTextOrNilRows[] = {ArrayRow(kTextOrNilElements, 1)};
constexpr ArrayShape kTextsOrNils(kTextOrNilRows);

constexpr ReplyKinds kFieldElements[] = {kText, kText};
constexpr ArrayRow kFieldRows[] = {ArrayRow(kFieldElements, 2)};
constexpr ArrayShape kFields(kFieldRows);

// RESP3 has a pair for each member.
constexpr ReplyKinds kScoreElements[] = {kText, kScore};
constexpr ArrayRow kPairRows[] = {ArrayRow(kScoreElements)};
constexpr ArrayShape kPair(kPairRows);
constexpr ReplyKinds kPairElements[] = {kArray.arrays_of(kPair)};
constexpr ArrayRow kScoreRows[] = {ArrayRow(kScoreElements, 2), ArrayRow(kPairElements, 1)};
constexpr ArrayShape kScores(kScoreRows);

constexpr ReplyKinds kTimeElements[] = {kDecimal, kDecimal};
constexpr ArrayRow kTimeRows[] = {ArrayRow(kTimeElements)};
constexpr ArrayShape kTime(kTimeRows);

constexpr ReplyKinds kAddressElements[] = {kText, kDecimal};
constexpr ArrayRow kAddressRows[] = {ArrayRow(kAddressElements)};
constexpr ArrayShape kAddress(kAddressRows);

// Each channel's name and its subscribers.
constexpr ReplyKinds kCountElements[] = {kText, from(0)};
constexpr ArrayRow kCountRows[] = {ArrayRow(kCountElements, 2)};
constexpr ArrayShape kCounts(kCountRows);

constexpr ReplyKinds kScanElements[] = {kDecimal, kArray.arrays_of(kTexts)};
constexpr ArrayRow kScanRows[] = {ArrayRow(kScanElements)};
constexpr ArrayShape kScan(kScanRows);

constexpr std::string_view kWithScores = "WITHSCORES";

constexpr std::size_t kAnyNumber = ~std::size_t{0};

// One command, or a form of it.
struct Known {
  std::string_view command;  // with the word behind it where that says what is done
  std::size_t least;         // arguments behind that
  std::size_t most;
  ReplyKinds replies;
  enum class Counts : std::uint8_t {
    kNothing,
    kElements,  // the reply has an element for each argument behind the first
    kNumber,    // it is a number, at most that of its arguments
    kRest,      // at most that of those behind the first
  } counts = Counts::kNothing;
  std::string_view option{};  // the last argument, or the last but one
};

using Counts = Known::Counts;

constexpr Known kCommands[] = {
    {"ACL WHOAMI", 0, 0, kText},
    {"CLIENT ID", 0, 0, from(0)},
    {"CLIENT INFO", 0, 0, kText},
    {"CLIENT LIST", 0, 0, kText},
    {"CLUSTER SLOTS", 0, 0, topology::kSlotsReply},
    {"DEL", 1, kAnyNumber, from(0), Counts::kNumber},
    {"EXISTS", 1, kAnyNumber, from(0), Counts::kNumber},
    {"GET", 1, 1, kTextOrNil},
    {"HDEL", 2, kAnyNumber, from(0), Counts::kRest},
    {"HGET", 2, 2, kTextOrNil},
    {"HGETALL", 1, 1, kArray.arrays_of(kFields)},
    {"HLEN", 1, 1, from(0)},
    {"HMGET", 2, kAnyNumber, kArray.arrays_of(kTextsOrNils), Counts::kElements},
    {"HRANDFIELD", 1, 1, kTextOrNil},
    {"HSCAN", 4, 4, kArray.arrays_of(kScan)},
    {"INFO", 0, 1, kText},
    {"LLEN", 1, 1, from(0)},
    {"LRANGE", 3, 3, kArray.arrays_of(kTexts)},
    {"PEXPIRE", 2, 2, from(0).within(0, 1)},
    {"MEMORY USAGE", 3, 3, ReplyKind::kNil | ReplyKind::kInteger},
    {"PTTL", 1, 1, from(-2)},
    {"PUBSUB CHANNELS", 1, 1, kArray.arrays_of(kTexts)},
    {"PUBSUB NUMSUB", 0, kAnyNumber, kArray.arrays_of(kCounts)},
    {"PUBSUB SHARDCHANNELS", 1, 1, kArray.arrays_of(kTexts)},
    {"PUBSUB SHARDNUMSUB", 0, kAnyNumber, kArray.arrays_of(kCounts)},
    {"SCAN", 5, 7, kArray.arrays_of(kScan)},
    {"SENTINEL GET-MASTER-ADDR-BY-NAME", 1, 1,
     (ReplyKind::kArray | ReplyKind::kNil).arrays_of(kAddress)},
    {"SET", 4, 4, ReplyKind::kStatus, Counts::kNothing, "PX"},
    {"STRLEN", 1, 1, from(0)},
    {"TIME", 0, 0, kArray.arrays_of(kTime)},
    {"ZADD", 3, 3, from(0).within(0, 1)},
    {"ZCARD", 1, 1, from(0)},
    {"ZRANGE", 3, 3, kArray.arrays_of(kTexts)},
    {"ZRANGE", 4, 4, kArray.arrays_of(kScores), Counts::kNothing, kWithScores},
    {"ZREM", 2, kAnyNumber, from(0), Counts::kRest},
    {"ZREMRANGEBYRANK", 3, 3, from(0)},
};

char capital(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

bool same_word(std::string_view one, std::string_view capitals) {
  return std::equal(one.begin(), one.end(), capitals.begin(), capitals.end(),
                    [](char letter, char other) { return capital(letter) == other; });
}

// How many of the words are those of the command; 0: they are others.
std::size_t words_of(std::string_view command, const Words& words) {
  const std::size_t space = command.find(' ');
  if (!same_word(words[0], command.substr(0, space))) return 0;
  if (space == std::string_view::npos) return 1;
  return words.size() > 1 && same_word(words[1], command.substr(space + 1)) ? 2 : 0;
}

ReplyKinds counted(const Known& known, std::size_t arguments) {
  const auto number = static_cast<std::int64_t>(arguments);
  switch (known.counts) {
    case Counts::kElements:
      return known.replies.about(arguments - 1);
    case Counts::kNumber:
      return known.replies.within(0, number);
    case Counts::kRest:
      return known.replies.within(0, number - 1);
    case Counts::kNothing:
      break;
  }
  return known.replies;
}

ReplyKinds replies_of_text(std::string_view text) {
  constexpr std::string_view kSpace = " \n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  text = text.substr(0, text.find_last_not_of(kSpace) + 1);
  for (const script::Script* const script : script::lua::all) {
    if (script->text == text && !script->replies.count_things()) return script->replies;
  }
  return ReplyKinds::any();
}

}  // namespace

bool has_scores(const Words& words) {
  const bool of_sorted_set = !words[0].empty() && capital(words[0].front()) == 'Z';
  return of_sorted_set && same_word(words.back(), kWithScores);
}

ReplyKinds replies_to(const Words& words) {
  if (words.size() > 1 && same_word(words[0], "EVAL")) return replies_of_text(words[1]);
  for (const Known& known : kCommands) {
    const std::size_t own = words_of(known.command, words);
    const std::size_t arguments = words.size() - own;
    if (own == 0 || arguments < known.least || arguments > known.most) continue;
    const auto is_option = [&](const std::string& word) { return same_word(word, known.option); };
    const bool fits = known.option.empty() || std::any_of(words.end() - 2, words.end(), is_option);
    if (fits) return counted(known, arguments);
  }
  return ReplyKinds::any();
}

}  // namespace holdfast::sync
