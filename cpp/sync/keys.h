#pragma once

#include <string>

#include "base/types.h"

namespace holdfast::sync {

// Every key and channel that is derived from a name, in Redisson's spelling.

// `{name}`, or the name alone where it has a brace of its own.
inline std::string braced(const LockName& name) {
  const std::string& bytes = name.bytes();
  if (bytes.find('{') != std::string::npos) return bytes;
  return '{' + bytes + '}';
}

inline std::string prefixed(const std::string& prefix, const LockName& name) {
  return prefix + ':' + braced(name);
}

inline std::string suffixed(const LockName& name, const std::string& suffix) {
  return braced(name) + ':' + suffix;
}

inline Channel lock_channel(const LockName& name) {
  return Channel(prefixed("redisson_lock__channel", name));
}

inline Channel semaphore_channel(const LockName& name) {
  return Channel(prefixed("redisson_sc", name));
}

// In braces whatever the name is, as in Redisson.
inline Channel latch_channel(const LockName& name) {
  return Channel("redisson_countdownlatch__channel__{" + name.bytes() + '}');
}

// Where the answer to a request is kept for a while: `id` is "uuid:number".
inline std::string request_key(const LockName& name, const std::string& id) {
  return prefixed("redisson_request", name) + ':' + id;
}

// The counter of a fenced lock: its last token.
inline std::string token_counter(const LockName& name) {
  return prefixed("redisson_lock_token", name);
}

inline std::string fair_queue(const LockName& name) {
  return prefixed("redisson_lock_queue", name);
}

inline std::string fair_timeouts(const LockName& name) {
  return prefixed("redisson_lock_timeout", name);
}

inline Channel rwlock_channel(const LockName& name) {
  return Channel(prefixed("redisson_rwlock", name));
}

// What the timeout keys of a name's read holds begin with.
inline std::string rwlock_prefix(const LockName& name) { return braced(name); }

inline std::string permit_timeouts(const LockName& name) { return suffixed(name, "timeout"); }

}  // namespace holdfast::sync
