#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/types.h"
#include "sync/context.h"
#include "sync/recipe.h"

namespace holdfast::sync {

// The commands of a lock's first attempt and of its last release, encoded but for their owner. For
// a kind whose commands name the owner once.
class PlainCommands {
 public:
  // With that lease; null: the kind's commands cannot be cut so.
  static std::unique_ptr<const PlainCommands> encode(const Context& with, const LockRecipe& recipe,
                                                     const LockName& name, Millis lease);

  // Whether they are what the recipe would write now for an attempt with that lease, or for a
  // release.
  bool fit(const Context& with, Millis lease) const { return lease == lease_ && fit(with); }
  bool fit(const Context& with) const { return publish_ == with.topology->publish_command(); }

  // Append a command; the kinds of its reply.
  resp::ReplyKinds acquire(std::string& out, const Context& with, OwnerNumber owner) const {
    return append(out, acquire_, with, owner);
  }
  resp::ReplyKinds release(std::string& out, const Context& with, OwnerNumber owner) const {
    return append(out, release_, with, owner);
  }

 private:
  // What stands before and after the owner's field.
  struct Halves {
    std::string head;
    std::string tail;
    resp::ReplyKinds replies = resp::ReplyKinds::any();
  };

  PlainCommands(Millis lease, std::string_view publish) : lease_(lease), publish_(publish) {}
  static bool cut(const std::string& command, std::string_view bulk, Halves& into);
  static resp::ReplyKinds append(std::string& out, const Halves& halves, const Context& with,
                                 OwnerNumber owner);

  const Millis lease_;
  const std::string publish_;
  Halves acquire_;
  Halves release_;
};

}  // namespace holdfast::sync
