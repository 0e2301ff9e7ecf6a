#include "resp/error_reply.h"

#include <cstddef>
#include <string>

namespace holdfast::resp {

namespace {

constexpr std::string_view kReadonly = "READONLY";

// The list, each word between spaces.
constexpr std::string_view kThere =
    " LOADING BUSY TRYAGAIN MASTERDOWN MISCONF NOREPLICAS UNBLOCKED ";
constexpr std::string_view kElsewhere = " CLUSTERDOWN READONLY MASTERDOWN ";
constexpr std::string_view kRedirections = " MOVED ASK ";

bool is_among(std::string_view words, std::string_view text) {
  return words.find(' ' + std::string(error_word(text)) + ' ') != std::string_view::npos;
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

// Without where in which script it happened, which servers from version 7 on append:
// " script: <sha1>, on @user_script:2.", and Valkey 9 " script: on @user_script:2.".
std::string_view without_place(std::string_view text) {
  if (text.rfind(" on @user_script:") == std::string_view::npos) return text;
  return text.substr(0, text.rfind(" script: "));
}

}  // namespace

// Some servers put "ERR " before the word of an error that a script has met; those before version
// 7 more: "ERR Error running script (call to f_<sha1>): @user_script:2: @user_script: 2: -OOM ...".
std::string_view error_text(std::string_view text) {
  text = without_place(text);
  constexpr std::string_view kScript = "@user_script";
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

bool is_temporary(std::string_view text) {
  return passes_there(text) || is_of_old_topology(text) || is_among(kRedirections, text);
}

bool passes_there(std::string_view text) { return is_among(kThere, text); }

bool is_of_old_topology(std::string_view text) { return is_among(kElsewhere, text); }

// Not what a script's author has called so: the server puts a dash before its own error there.
bool says_readonly(std::string_view text) {
  const std::size_t at = text.find("READONLY ");
  return at == 0 || (at != std::string_view::npos && text[at - 1] == '-');
}

bool is_unknown_script(std::string_view text) { return error_word(text) == "NOSCRIPT"; }

}  // namespace holdfast::resp
