#include "sync/operation/command_template.h"

#include <cstddef>

namespace holdfast::sync {

std::optional<CommandTemplate> CommandTemplate::of(std::string_view command,
                                                   resp::ReplyKinds replies, OwnerArgument form,
                                                   const std::string& client_id,
                                                   OwnerNumber owner) {
  std::string argument;
  form(argument, client_id, owner);
  const std::size_t at = command.find(argument);
  if (at == std::string_view::npos || command.rfind(argument) != at) return std::nullopt;
  CommandTemplate made;
  made.head_ = command.substr(0, at);
  made.tail_ = command.substr(at + argument.size());
  made.replies_ = replies;
  made.form_ = form;
  return made;
}

resp::ReplyKinds CommandTemplate::append(std::string& out, const std::string& client_id,
                                         OwnerNumber owner) const {
  out += head_;
  form_(out, client_id, owner);
  out += tail_;
  return replies_;
}

}  // namespace holdfast::sync
