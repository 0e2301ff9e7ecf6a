#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "guard/held_page.h"
#include "guard/settings.h"
#include "net/endpoint.h"
#include "net/transport.h"
#include "resp/reply.h"

namespace holdfast::guard {

// One connection to the server, whose calls block. One thread.
class Server {
 public:
  // Connects and greets it (AUTH, SELECT). kUnreachable, kServer: what went wrong; no password.
  static Result<Server> connect(const Settings& settings, TimePoint deadline);

  // Sends commands in RESP, and returns that many replies. kUnreachable: the connection is broken.
  Result<std::vector<resp::Reply>> request(const std::string& commands, std::size_t count,
                                           TimePoint deadline);

 private:
  explicit Server(std::unique_ptr<net::Transport> transport);

  Status greet(const Settings& settings, TimePoint deadline);
  Status send(const std::string& bytes, TimePoint deadline);
  Status receive(TimePoint deadline);
  Status await(net::Io wanted, TimePoint deadline) const;

  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<resp::Reader> reader_;
};

// The servers of one client, each connected when it is first needed. One thread.
class Servers {
 public:
  // With `closes`, the program's connection to a server is closed, by its number in the page, as
  // soon as the guard is connected to it. To be false once a server may have been started again:
  // the number may be of another client's then.
  Servers(const HeldPageView& page, const std::vector<Settings>& known, bool closes);

  // The newest that answers, each within `time`. kUnreachable: none does.
  Result<std::size_t> any(Duration time);
  // The number of the one that servers call so, reached as `like` is.
  std::size_t find(const net::Address& address, std::size_t like);
  const Settings& settings(std::size_t number) const { return all_[number].settings; }

  // Sends commands, and returns that many replies.
  Result<std::vector<resp::Reply>> request(std::size_t number, const std::string& commands,
                                           std::size_t count, TimePoint deadline);

 private:
  struct Known {
    Settings settings;
    std::unique_ptr<Server> connection;  // null: there is none yet, or it failed
  };

  Status connect(Known& known, TimePoint deadline);
  void close_programs(Known& known, TimePoint deadline);

  const HeldPageView& page_;
  const bool closes_;
  std::vector<Known> all_;
};

// The primary of a service, as the sentinel with the newest configuration names it; nullopt: none
// of them has answered. Each is queried for a short time only. Blocks.
std::optional<net::Address> find_primary(const std::vector<Settings>& sentinels);

}  // namespace holdfast::guard
