#include "guard/servers.h"

#include <string>
#include <utility>

#include "net/address_map.h"
#include "resp/command.h"

namespace holdfast::guard {

Servers::Servers(const HeldPageView& page, const std::vector<Settings>& known, bool closes)
    : page_(page), closes_(closes) {
  for (auto each = known.rbegin(); each != known.rend(); ++each) all_.push_back({*each, nullptr});
}

Result<std::size_t> Servers::any(Duration time) {
  Status why = Status::unreachable("the program has not been connected to a server");
  for (std::size_t number = 0; number < all_.size(); ++number) {
    why = connect(all_[number], after(SystemClock().now(), time));
    if (why.ok()) return number;
  }
  return why;
}

std::size_t Servers::find(const net::Address& address, std::size_t like) {
  for (std::size_t number = 0; number < all_.size(); ++number) {
    if (all_[number].settings.announced == address) return number;
  }
  Settings settings = all_[like].settings;
  settings.announced = address;
  settings.address = net::mapped(settings.address_map, address);
  settings.place = Settings::kNoPlace;
  all_.push_back({std::move(settings), nullptr});
  return all_.size() - 1;
}

Status Servers::connect(Known& known, TimePoint deadline) {
  if (known.connection) return {};
  auto made = Server::connect(known.settings, deadline);
  if (!made.ok()) return made.status();
  known.connection = std::make_unique<Server>(std::move(made.value()));
  if (closes_) close_programs(known, deadline);
  return {};
}

void Servers::close_programs(Known& known, TimePoint deadline) {
  const std::int64_t connection = page_.connection(known.settings.place);
  if (connection <= 0) return;
  const resp::Command command{"CLIENT", "KILL", "ID", std::to_string(connection)};
  (void)known.connection->request(command.bytes(), 1, deadline);
}

Result<std::vector<resp::Reply>> Servers::request(std::size_t number, const std::string& commands,
                                                  std::size_t count, TimePoint deadline) {
  Known& known = all_[number];
  if (Status status = connect(known, deadline); !status.ok()) return status;
  auto replies = known.connection->request(commands, count, deadline);
  if (!replies.ok()) known.connection.reset();
  return replies;
}

}  // namespace holdfast::guard
