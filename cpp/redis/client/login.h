#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "redis/base/status.h"
#include "redis/client/request.h"
#include "redis/net/endpoint.h"
#include "redis/resp/command.h"
#include "redis/resp/reply.h"

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

// The meaning of an error reply to AUTH for a stream of that server.
Status login_refused(const net::Address& server, std::string_view reply);

// An error reply without the arguments of a command that the server does not know, which it
// repeats: those of AUTH and HELLO are passwords.
std::string_view without_arguments(std::string_view reply);

// `address` has answered the greeting with the error `text`, which begins with `word`.
// `for_tracking`: its client is made for servers with CLIENT TRACKING alone.
Status refused_greeting(const std::string& address, const std::string& text,
                        const std::string& word, bool for_tracking);

// The server at `address` has said `error`, its first reply on a stream, before it can have had a
// command, and hangs up: it takes no more clients, or none from there.
Status refused_at_once(const std::string& address, std::string_view error);

}  // namespace holdfast::client
