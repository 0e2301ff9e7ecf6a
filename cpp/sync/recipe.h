#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "lease/hold.h"
#include "resp/reply.h"
#include "script/script.h"

namespace holdfast::sync {

// The server's answer to an attempt.
struct Answer {
  enum class Kind {
    kGranted,
    kHeld,  // by another, for `ttl` more; negative: without a time limit
    kGone,  // the caller's earlier holds are not there any more
  };
  Kind kind = Kind::kGranted;
  Millis ttl{0};
};

// One attempt, or one release, as scripts need it.
struct Step {
  const LockName& name;
  std::string owner;  // the owner's field
  int count = 0;      // the holds that there are afterwards
  Millis lease{0};
  std::string_view publish;  // the publishing command
  bool by_text = false;      // the server does not know the script
};

// What makes a kind of lock: its scripts, its keys, its channel, what replies mean. Stateless: one
// object for each kind, shared by all.
class Recipe : public lease::Renewal {
 public:
  virtual std::vector<const script::Script*> scripts() const = 0;
  virtual Channel channel(const LockName& name) const = 0;
  virtual void acquire(std::string& out, const Step& step) const = 0;
  virtual Answer acquired(const resp::Reply& reply) const = 0;

  // Replies n >= 1: free now, and n - 1 subscribers were told; 0: holds are left; nil: the owner's
  // field is not there.
  virtual void release(std::string& out, const Step& step) const = 0;
  // Hands the lock to `heir`, another owner of this client. Replies 1, or nil: `owner` does not
  // hold it.
  virtual void transfer(std::string& out, const Step& step, const std::string& heir) const = 0;
  // Sets the lease anew, shorter or longer (a renewal never cuts it). Replies 1, or 0: not held.
  virtual void extend(std::string& out, const Step& step) const = 0;
  // Replies 1: it was held, 0: it was not.
  virtual void force_release(std::string& out, const Step& step) const = 0;

  // Questions; their replies are integers.
  virtual void locked(std::string& out, const LockName& name) const = 0;             // > 0: held
  virtual void hold_count(std::string& out, const Step& step) const = 0;             // nil: 0
  virtual void ttl(std::string& out, const LockName& name, bool by_text) const = 0;  // ms, -1, -2
};

}  // namespace holdfast::sync
