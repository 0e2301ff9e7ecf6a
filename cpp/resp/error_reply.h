#pragma once

#include <string_view>

namespace holdfast::resp {

// What an error reply means for the sender of the command.
enum class ErrorKind {
  kUnknownScript,  // NOSCRIPT: send the text
  kPasses,         // a state of the server that passes by itself: try again
  kFinal,
};
ErrorKind error_kind(std::string_view text);

// Its word (READONLY, OOM, ...), also where the server wraps what a script has met.
std::string_view error_word(std::string_view text);

// The reply without what the server wraps around an error that a script has met.
std::string_view error_text(std::string_view text);

}  // namespace holdfast::resp
