#pragma once

#include <string>

namespace holdfast {

// A random UUID in the spelling of Java's UUID.toString(). Its version is 8 (RFC 9562), that of
// Redisson's clients is 4. Any thread.
std::string fresh_uuid();

}  // namespace holdfast
