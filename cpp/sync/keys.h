#pragma once

#include <string>

#include "base/types.h"

namespace holdfast::sync {

// Every key and channel that is derived from a name, in Redisson's spelling.

// `prefix:{name}`, or `prefix:name` where the name has a brace of its own.
inline std::string prefixed(const std::string& prefix, const LockName& name) {
  const std::string& bytes = name.bytes();
  if (bytes.find('{') != std::string::npos) return prefix + ':' + bytes;
  return prefix + ":{" + bytes + '}';
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

// What the timeout keys of a name's read holds begin with: `{name}`, or the name where it has a
// brace of its own.
inline std::string rwlock_prefix(const LockName& name) {
  const std::string& bytes = name.bytes();
  if (bytes.find('{') != std::string::npos) return bytes;
  return '{' + bytes + '}';
}

}  // namespace holdfast::sync
