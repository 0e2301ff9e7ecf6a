#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/status.h"
#include "client/request.h"
#include "net/endpoint.h"
#include "resp/command.h"

namespace holdfast::client {

class StreamWitness;

// Newer credentials for streams that are open.
struct Login {
  net::Credentials who;
  // A server keeps to the older ones: why. Called on any thread, with locks of a connection held,
  // perhaps once for each stream.
  std::function<void(const Status&)> refused;
};
using LoginPtr = std::shared_ptr<const Login>;

// AUTH; nullopt where there is neither user nor password.
std::optional<resp::Command> auth_command(const net::Credentials& who);

// A login in order with the commands of a Connection. `witness` learns of it, unless null.
RequestPtr login_request(LoginPtr login, std::shared_ptr<StreamWitness> witness);

// What an error reply to AUTH means for a stream of that server.
Status login_refused(const net::Address& server, std::string_view reply);

}  // namespace holdfast::client
