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
