#pragma once

#include <string>
#include <string_view>

#include "locks/base/types.h"
#include "redis/script/writer.h"
#include "simulation/kind.h"
#include "support/answer.h"

namespace holdfast::simulation {

// The two that wire transcripts exist of. What lies between them does as one of them does.
enum class Redisson { k3_17_6, k4_7_0 };

// One step of a thread of Redisson.
struct RedissonStep {
  const script::Script& script;
  Words command;  // EVAL's words, to be followed by the present time in ms
};

// What the threads of Redisson do to a lock, written down by the keys that they change, without
// their keys for repeated requests. The first argument of each is the owner.
class RedissonSteps {
 public:
  // Of a lock of that kind, by a thread of that version.
  RedissonSteps(const Kind& kind, Redisson version, LockName lock, std::string owner);

  // There are steps for this kind.
  static bool has(const Kind& kind);

  // Replies: nil, it is granted; else the ms that the lock has left.
  RedissonStep take(Millis lease) const { return step("take", lease); }
  RedissonStep renew(Millis lease) const { return step("renew", lease); }
  // `lease`: of what remains of several holds. Replies: 1, free; 0, still held; nil, no hold.
  RedissonStep release(Millis lease) const { return step("release", lease); }
  RedissonStep force_release() const { return step("force_release", Millis(0)); }

  // By which a server's witness knows these steps.
  static bool wrote(std::string_view script) { return script.substr(0, 9) == "redisson/"; }

 private:
  RedissonStep step(const std::string& what, Millis lease) const;

  std::string family_;  // "lock", "fair", "read" or "write"
  Redisson version_;
  LockName lock_;
  std::string owner_;
};

}  // namespace holdfast::simulation
