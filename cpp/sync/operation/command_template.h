#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "resp/reply_kinds.h"
#include "sync/recipes/owner_argument.h"

namespace holdfast::sync {

// A command of a synchronizer, encoded but for its name and its owner, which have their places in
// it: the command of all names for which the rest is the same, as of those of one length.
class CommandTemplate {
 public:
  // Of a command that was written for `name` and `owner`, which it names as `form` does. Nothing
  // where it names this owner not at all, or more than once.
  struct Written {
    std::string_view command;
    resp::ReplyKinds replies;
    std::string_view name;
    OwnerArgument form;
    const std::string& client_id;
    OwnerNumber owner;
  };
  static std::optional<CommandTemplate> of(const Written& written);

  // Appends the command of a name and an owner; the kinds of its reply.
  resp::ReplyKinds append(std::string& out, std::string_view name, const std::string& client_id,
                          OwnerNumber owner) const;

  // The same for two templates of one recipe: they write the same commands.
  std::string shape() const;

 private:
  enum class What : std::uint8_t { kName, kOwner };
  struct Place {
    std::uint32_t at;  // in the text
    What what;
  };

  void cut(std::string_view part, std::string_view name);

  std::string text_;           // all of it without what stands in the places
  std::vector<Place> places_;  // in order
  resp::ReplyKinds replies_ = resp::ReplyKinds::any();
  OwnerArgument form_ = &append_field;
};

}  // namespace holdfast::sync
