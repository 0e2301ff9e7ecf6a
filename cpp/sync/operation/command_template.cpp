#include "sync/operation/command_template.h"

#include <cstddef>

namespace holdfast::sync {

std::optional<CommandTemplate> CommandTemplate::of(const Written& written) {
  std::string argument;
  written.form(argument, written.client_id, written.owner);
  const std::string_view command = written.command;
  const std::size_t at = command.find(argument);
  const bool once = at != std::string_view::npos && command.rfind(argument) == at;
  if (!once || written.name.empty()) return std::nullopt;
  CommandTemplate made;
  made.cut(command.substr(0, at), written.name);
  made.places_.push_back({static_cast<std::uint32_t>(made.text_.size()), What::kOwner});
  made.cut(command.substr(at + argument.size()), written.name);
  made.text_.shrink_to_fit();
  made.replies_ = written.replies;
  made.form_ = written.form;
  return made;
}

void CommandTemplate::cut(std::string_view part, std::string_view name) {
  for (std::size_t at = part.find(name); at != std::string_view::npos; at = part.find(name)) {
    text_ += part.substr(0, at);
    places_.push_back({static_cast<std::uint32_t>(text_.size()), What::kName});
    part.remove_prefix(at + name.size());
  }
  text_ += part;
}

resp::ReplyKinds CommandTemplate::append(std::string& out, std::string_view name,
                                         const std::string& client_id, OwnerNumber owner) const {
  std::size_t done = 0;
  for (const Place& place : places_) {
    out.append(text_.data() + done, place.at - done);
    done = place.at;
    if (place.what == What::kName) {
      out.append(name.data(), name.size());
    } else {
      form_(out, client_id, owner);
    }
  }
  out.append(text_.data() + done, text_.size() - done);
  return replies_;
}

std::string CommandTemplate::shape() const {
  std::string shape;
  for (const Place& place : places_) {
    shape.append(std::to_string(place.at)).append(1, place.what == What::kName ? 'n' : 'o');
  }
  return shape.append(1, ':').append(std::to_string(text_.size())).append(1, ':').append(text_);
}

}  // namespace holdfast::sync
