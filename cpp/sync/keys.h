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

// `{name}:suffix`, or `name:suffix`, by the same rule.
inline std::string suffixed(const LockName& name, const std::string& suffix) {
  const std::string& bytes = name.bytes();
  if (bytes.find('{') != std::string::npos) return bytes + ':' + suffix;
  return '{' + bytes + "}:" + suffix;
}

inline Channel lock_channel(const LockName& name) {
  return Channel(prefixed("redisson_lock__channel", name));
}

inline Channel semaphore_channel(const LockName& name) {
  return Channel(prefixed("redisson_sc", name));
}

inline std::string permit_timeouts(const LockName& name) { return suffixed(name, "timeout"); }

}  // namespace holdfast::sync
