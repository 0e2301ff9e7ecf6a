#include "guard/server.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

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
  const net::Credentials& who = settings.credentials;
  if (!who.username.empty()) {
    say({"AUTH", who.username, who.password});
  } else if (!who.password.empty()) {
    say({"AUTH", who.password});
  }
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

}  // namespace holdfast::guard
