#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "guard/settings.h"
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

}  // namespace holdfast::guard
