#pragma once

#include <string>
#include <string_view>

namespace holdfast {

// Bytes as text for people, in UTF-8, the one form in which messages, logs and tables show a name:
// control characters, characters that are invisible or change the direction of the text, separators
// of lines, and bytes that are not UTF-8 as \xNN for each byte. Any thread.
std::string shown(std::string_view bytes);

// shown() between single quotes.
std::string quoted(std::string_view bytes);

}  // namespace holdfast
