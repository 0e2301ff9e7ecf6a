#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "locks/base/types.h"

namespace holdfast::sync {

// A key or channel that is derived from a name, in Redisson's spelling: the name stands in braces,
// or alone if it contains one.
struct Key {
  std::string_view before{};
  std::string_view after{};
  bool always_braced = false;

  bool braces(const LockName& name) const { return always_braced || !name.has_brace(); }
  std::size_t size(const LockName& name) const {
    return before.size() + name.bytes().size() + (braces(name) ? 2 : 0) + after.size();
  }
  // Returns its end.
  char* write(char* to, const LockName& name) const {
    const std::string_view bytes = name.bytes();
    const bool braced = braces(name);
    to = std::copy(before.begin(), before.end(), to);
    if (braced) *to++ = '{';
    to = std::copy(bytes.begin(), bytes.end(), to);
    if (braced) *to++ = '}';
    return std::copy(after.begin(), after.end(), to);
  }
  std::string of(const LockName& name) const {
    std::string key(size(name), '\0');
    write(key.data(), name);
    return key;
  }
};

namespace keys {

inline constexpr Key kLockChannel{"redisson_lock__channel:"};
inline constexpr Key kSemaphoreChannel{"redisson_sc:"};
inline constexpr Key kLatchChannel{"redisson_countdownlatch__channel__", {}, true};
inline constexpr Key kSidesChannel{"redisson_rwlock:"};
// Without a prefix: the beginning of the timeout keys of a name's read holds.
inline constexpr Key kBraced{};
inline constexpr Key kTokenCounter{"redisson_lock_token:"};  // a fenced lock's last token
inline constexpr Key kFairQueue{"redisson_lock_queue:"};
inline constexpr Key kFairTimeouts{"redisson_lock_timeout:"};
inline constexpr Key kPermitTimeouts{{}, ":timeout"};
inline constexpr Key kSlots{"holdfast_slots:"};  // each slot's last permit and its token
// The state of what is built on a lock or beside one: a hash with its revision, and the channel of
// its changes.
inline constexpr Key kState{"holdfast_state:"};
inline constexpr Key kChangedChannel{"holdfast_changed:"};
// The beginning of the key that keeps the answer to a request for a while; the owner's field, of
// the request's slot, follows.
inline constexpr Key kRequest{"redisson_request:", ":"};
// The beginning of the key that lives as long as the owner's first read hold; the owner's field and
// kReadTimeoutEnd follow.
inline constexpr Key kReadTimeout{{}, ":"};
inline constexpr std::string_view kReadTimeoutEnd = ":rwlock_timeout:1";

}  // namespace keys

// Its channels are those of another name, too: of `n`, where it is `{n}`.
inline bool shares_channels(const LockName& name) {
  const std::string_view bytes = name.bytes();
  return bytes.size() > 2 && bytes.front() == '{' && bytes.back() == '}' &&
         bytes.find('{', 1) == std::string_view::npos;
}

}  // namespace holdfast::sync
