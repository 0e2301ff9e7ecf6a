#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

#include "redis/resp/reply.h"

namespace holdfast::resp {

namespace {

constexpr std::string_view kReadonly = "READONLY";
constexpr std::string_view kDenied = "DENIED";

// The commands for which an error passes, and where.
enum Passes : unsigned {
  kCall = 1U,         // any command
  kRelease = 2U,      // one that gives something back
  kThere = 4U,        // that server will answer
  kElsewhere = 8U,    // another server may be the primary
  kOutOfOrder = 32U,  // that server does not work for the moment, whatever the command
  kLogin = 16U,       // for a release alone, each second: it is about the client, not the command
};
struct Row {
  std::string_view word;
  unsigned passes;
};

// All others stay: NOPERM, WRONGTYPE, ERR, ...
constexpr unsigned kAll = kCall | kRelease;
constexpr std::array<Row, 15> kTable{{
    {"LOADING", kAll | kThere | kOutOfOrder},
    {"BUSY", kAll | kThere | kOutOfOrder},
    {"TRYAGAIN", kAll | kThere},
    {"MISCONF", kAll | kThere},
    {"NOREPLICAS", kAll | kThere},
    {"UNBLOCKED", kAll | kThere},
    {"MASTERDOWN", kAll | kThere | kElsewhere | kOutOfOrder},
    {"CLUSTERDOWN", kAll | kElsewhere | kOutOfOrder},
    {kReadonly, kAll | kElsewhere},
    {"MOVED", kAll},
    {"ASK", kAll},
    {"OOM", kRelease},
    {"WRONGPASS", kLogin},
    {"NOAUTH", kLogin},
    {kDenied, kLogin},
}};

unsigned passes_for(std::string_view text) {
  const std::string_view word = error_word(text);
  const auto is_it = [word](const Row& row) { return row.word == word; };
  const auto* const row = std::find_if(kTable.begin(), kTable.end(), is_it);
  return row == kTable.end() ? 0U : row->passes;
}

// What a script may not do, where there is no word for it: Redis 6 and 7.0, Valkey.
bool is_about_rights(std::string_view text) {
  if (text.substr(0, 4) == "ERR ") text.remove_prefix(4);
  constexpr std::string_view kRedis = "The user executing the script can't ";
  constexpr std::string_view kValkey = "ACL failure in script";
  return text.substr(0, kRedis.size()) == kRedis || text.substr(0, kValkey.size()) == kValkey;
}

// The answer to a WAIT whose server has become a replica since the write.
bool is_of_replica(std::string_view text) {
  constexpr std::string_view kBegin = "ERR WAIT cannot be used with replica";
  return text.substr(0, kBegin.size()) == kBegin;
}

}  // namespace

// Some servers put "ERR " before the word of an error that a script has met; those before version
// 7 more: "ERR Error running script (call to f_<sha1>): @user_script:2: @user_script: 2: -OOM ...".
std::string_view error_text(std::string_view text) {
  constexpr std::string_view kScript = "@user_script";
  // Servers from version 7 on append where in which script it happened:
  // " script: <sha1>, on @user_script:2.", and Valkey 9 " script: on @user_script:2.".
  if (text.rfind(" on @user_script:") != std::string_view::npos) {
    text = text.substr(0, text.rfind(" script: "));
  }
  if (text.substr(0, 24) == "ERR Error running script") {
    const std::size_t last = text.rfind(kScript);
    if (last == std::string_view::npos) return text;
    const std::size_t start = text.find_first_not_of(":0123456789 -", last + kScript.size());
    return start == std::string_view::npos ? text : text.substr(start);
  }
  const bool is_plain = text.substr(0, 4) == "ERR " && is_about_rights(text);
  return is_plain || text.substr(0, 14) == "ERR WRONGTYPE " ? text.substr(4) : text;
}

std::string_view error_word(std::string_view text) {
  text = error_text(text);
  if (is_about_rights(text)) return "NOPERM";
  if (is_of_replica(text)) return kReadonly;
  return text.substr(0, text.find(' '));
}

bool is_temporary(std::string_view text) { return (passes_for(text) & kCall) != 0; }

bool passes_there(std::string_view text) { return (passes_for(text) & kThere) != 0; }

bool is_of_old_topology(std::string_view text) { return (passes_for(text) & kElsewhere) != 0; }

Pace pace_of_release(std::string_view text) {
  const unsigned passes = passes_for(text);
  if ((passes & kLogin) != 0) return Pace::kEachSecond;
  return (passes & kRelease) != 0 ? Pace::kSoon : Pace::kNever;
}

bool is_out_of_order(std::string_view text) { return (passes_for(text) & kOutOfOrder) != 0; }

// Not what a script's author has called so: the server puts a dash before its own error there.
bool says_readonly(std::string_view text) {
  const std::size_t at = text.find("READONLY ");
  return is_of_replica(text) || at == 0 || (at != std::string_view::npos && text[at - 1] == '-');
}

Refusal refusal_of_client(std::string_view text) {
  constexpr std::string_view kFull = "ERR max number of clients";
  if (text.substr(0, kFull.size()) == kFull) return Refusal::kFull;
  return error_word(text) == kDenied ? Refusal::kProtected : Refusal::kOther;
}

// "Unknown Redis command called from script", of Valkey 9 without its name.
std::optional<std::size_t> line_of_unknown_command(std::string_view text) {
  constexpr std::string_view kPlace = "@user_script:";
  const std::size_t place = text.find(kPlace);
  if (place == std::string_view::npos) return std::nullopt;
  if (text.find(" command called from script") == std::string_view::npos) return std::nullopt;
  std::size_t line = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + place + kPlace.size(), end, line);
  if (error != std::errc()) return std::nullopt;
  return line;
}

bool is_unknown_script(std::string_view text) { return error_word(text) == "NOSCRIPT"; }

}  // namespace holdfast::resp
