#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"
#include "resp/reply_kinds.h"
#include "sync/recipes/owner_argument.h"

namespace holdfast::sync {

// A command of a synchronizer, encoded but for its owner: what stands before and after the owner.
class CommandTemplate {
 public:
  // Of a command that was written for `owner`, which it names as `form` does. Nothing where it
  // names this owner not at all, or more than once.
  static std::optional<CommandTemplate> of(std::string_view command, resp::ReplyKinds replies,
                                           OwnerArgument form, const std::string& client_id,
                                           OwnerNumber owner);

  // Appends the command of another owner; the kinds of its reply.
  resp::ReplyKinds append(std::string& out, const std::string& client_id, OwnerNumber owner) const;

 private:
  std::string head_;
  std::string tail_;
  resp::ReplyKinds replies_ = resp::ReplyKinds::any();
  OwnerArgument form_ = &append_field;
};

}  // namespace holdfast::sync
