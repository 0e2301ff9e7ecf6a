#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/types.h"

namespace holdfast::sync {

// Every key and channel that is derived from a name, in Redisson's spelling.

// Appends the name between a prefix and a suffix: `{name}`, or the name alone if it contains a
// brace.
inline std::string& append_braced(std::string& key, const LockName& name,
                                  std::string_view before = {}, std::string_view after = {}) {
  const std::string_view bytes = name.bytes();
  const std::size_t braces = bytes.find('{') == std::string_view::npos ? 1 : 0;
  return key.append(before).append(braces, '{').append(bytes).append(braces, '}').append(after);
}

inline std::string braced(const LockName& name, std::string_view before = {},
                          std::string_view after = {}) {
  constexpr std::size_t kBraces = 2;
  std::string key;
  key.reserve(before.size() + name.bytes().size() + kBraces + after.size());
  append_braced(key, name, before, after);
  return key;
}

// Its channels are those of another name, too: of `n`, where it is `{n}`.
inline bool shares_channels(const LockName& name) {
  const std::string_view bytes = name.bytes();
  return bytes.size() > 2 && bytes.front() == '{' && bytes.back() == '}' &&
         bytes.find('{', 1) == std::string_view::npos;
}

inline Channel lock_channel(const LockName& name) {
  return Channel(braced(name, "redisson_lock__channel:"));
}

inline Channel semaphore_channel(const LockName& name) {
  return Channel(braced(name, "redisson_sc:"));
}

// Always in braces, as in Redisson.
inline Channel latch_channel(const LockName& name) {
  return Channel("redisson_countdownlatch__channel__{" + name.text() + '}');
}

inline constexpr std::string_view kRequestPrefix = "redisson_request:";

// The key that keeps the answer to a request for a while: `id` is "uuid:slot".
inline std::string request_key(const LockName& name, const std::string& id) {
  constexpr std::size_t kBraces = 2;
  std::string key;
  key.reserve(kRequestPrefix.size() + name.bytes().size() + kBraces + 1 + id.size());
  return append_braced(key, name, kRequestPrefix).append(1, ':').append(id);
}

// The counter of a fenced lock: its last token.
inline std::string token_counter(const LockName& name) {
  return braced(name, "redisson_lock_token:");
}

inline std::string fair_queue(const LockName& name) { return braced(name, "redisson_lock_queue:"); }

inline std::string fair_timeouts(const LockName& name) {
  return braced(name, "redisson_lock_timeout:");
}

inline Channel rwlock_channel(const LockName& name) {
  return Channel(braced(name, "redisson_rwlock:"));
}

// The beginning of the timeout keys of a name's read holds.
inline std::string rwlock_prefix(const LockName& name) { return braced(name); }

// The key that lives as long as the owner's first read hold.
inline std::string read_timeout(const LockName& name, std::string_view owner) {
  return rwlock_prefix(name).append(1, ':').append(owner).append(":rwlock_timeout:1");
}

inline std::string permit_timeouts(const LockName& name) { return braced(name, {}, ":timeout"); }

}  // namespace holdfast::sync
