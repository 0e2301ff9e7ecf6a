#include "guard/server.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "client/login.h"
#include "net/address_map.h"
#include "resp/command.h"

namespace holdfast::guard {

namespace {

int milliseconds_until(TimePoint deadline) {
  const auto remaining = std::chrono::ceil<Millis>(deadline - SystemClock().now());
  return static_cast<int>(std::clamp<std::int64_t>(remaining.count(), 0, 60000));
}

Status out_of_time() {
  return Status::unreachable("the server has not answered the guard in time");
}

}  // namespace

Server::Server(std::unique_ptr<net::Transport> transport)
    : transport_(std::move(transport)), reader_(std::make_unique<resp::Reader>()) {}

Result<Server> Server::connect(const Settings& settings, TimePoint deadline) {
  Server server(net::open_transport(settings.address, settings.tls,
                                    Millis(std::max(milliseconds_until(deadline), 1))));
  for (;;) {
    const net::IoResult result = server.transport_->connect();
    if (result.io == net::Io::kDone) break;
    if (result.io == net::Io::kFailed) return result.status;
    if (Status status = server.await(result.io, deadline); !status.ok()) return status;
  }
  if (Status status = server.greet(settings, deadline); !status.ok()) return status;
  return server;
}

Status Server::greet(const Settings& settings, TimePoint deadline) {
  std::string commands;
  std::size_t count = 0;
  const auto say = [&](const resp::Command& command) {
    commands += command.bytes();
    ++count;
  };
  if (const auto auth = client::auth_command(settings.credentials)) say(*auth);
  if (!settings.database.empty()) say({"SELECT", settings.database});
  if (count == 0) return {};
  const auto replies = request(commands, count, deadline);
  if (!replies.ok()) return replies.status();
  for (const resp::Reply& reply : replies.value()) {
    if (reply.is_error()) return Status::server("", "the server refuses the guard");
  }
  return {};
}

Result<std::vector<resp::Reply>> Server::request(const std::string& commands, std::size_t count,
                                                 TimePoint deadline) {
  if (Status status = send(commands, deadline); !status.ok()) return status;
  std::vector<resp::Reply> replies;
  while (replies.size() < count) {
    auto next = reader_->next();
    if (!next.ok()) return next.status();
    if (next.value()) {
      replies.push_back(std::move(*next.value()));
    } else if (Status status = receive(deadline); !status.ok()) {
      return status;
    }
  }
  return replies;
}

Status Server::send(const std::string& bytes, TimePoint deadline) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const net::IoResult result = transport_->write(bytes.data() + sent, bytes.size() - sent);
    sent += result.bytes;
    if (result.io == net::Io::kFailed) return result.status;
    if (result.io == net::Io::kDone) continue;
    if (Status status = await(result.io, deadline); !status.ok()) return status;
  }
  return {};
}

Status Server::receive(TimePoint deadline) {
  std::array<char, 4096> bytes{};
  for (;;) {
    const net::IoResult result = transport_->read(bytes.data(), bytes.size());
    if (result.io == net::Io::kFailed) return result.status;
    if (result.io == net::Io::kDone) {
      reader_->feed(bytes.data(), result.bytes);
      return {};
    }
    if (Status status = await(result.io, deadline); !status.ok()) return status;
  }
}

Status Server::await(net::Io wanted, TimePoint deadline) const {
  const int remaining = milliseconds_until(deadline);
  if (remaining == 0) return out_of_time();
  const bool to_write = wanted == net::Io::kWantWrite;
  pollfd waited{transport_->fd(), static_cast<short>(to_write ? POLLOUT : POLLIN), 0};
  const int ready = poll(&waited, 1, remaining);
  if (ready == 0 || (ready < 0 && errno != EINTR)) return out_of_time();
  return {};
}

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

namespace {

constexpr Millis kQueryTime{300};

template <typename Number>
Number number_in(std::string_view text) {
  Number value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// What one sentinel says; each failover has a greater epoch.
struct Named {
  std::uint64_t epoch;
  net::Address primary;
};

// The address in the first reply is the old one until a failover is over.
std::optional<Named> query(const Settings& sentinel) {
  const TimePoint deadline = after(SystemClock().now(), kQueryTime);
  auto server = Server::connect(sentinel, deadline);
  if (!server.ok()) return std::nullopt;
  std::string commands;
  for (const char* what : {"MASTER", "GET-MASTER-ADDR-BY-NAME"}) {
    commands += resp::Command({"SENTINEL", what, sentinel.service}).bytes();
  }
  const auto replies = server.value().request(commands, 2, deadline);
  if (!replies.ok()) return std::nullopt;
  const resp::Reply& address = replies.value()[1];
  if (!address.is_array() || address.size() != 2) return std::nullopt;
  const std::string_view epoch = replies.value()[0].field("config-epoch");
  return Named{number_in<std::uint64_t>(epoch),
               {std::string(address.text_at(0)), number_in<std::uint16_t>(address.text_at(1)), ""}};
}

}  // namespace

std::optional<net::Address> find_primary(const std::vector<Settings>& sentinels) {
  std::optional<Named> newest;
  for (const Settings& sentinel : sentinels) {
    const auto named = query(sentinel);
    if (named && (!newest || named->epoch > newest->epoch)) newest = named;
  }
  if (!newest) return std::nullopt;
  return newest->primary;
}

}  // namespace holdfast::guard
