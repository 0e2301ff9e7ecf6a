#include "redis/client/login.h"

#include <string>
#include <utility>

#include "redis/client/reconnecting_stream.h"
#include "redis/client/request.h"
#include "redis/resp/reply.h"

namespace holdfast::client {

std::optional<resp::Command> auth_command(const net::Credentials& who) {
  if (!who.username.empty()) return resp::Command{"AUTH", who.username, who.password};
  if (!who.password.empty()) return resp::Command{"AUTH", who.password};
  return std::nullopt;
}

RequestPtr login_request(LoginPtr login, std::shared_ptr<StreamWitness> witness) {
  const resp::Command auth = *auth_command(login->who);
  // A stream that has ended meanwhile is made anew with credentials of that time.
  auto completed = [login = std::move(login), witness = std::move(witness)](
                       const Result<resp::Reply>& reply, const Sent& /*sent*/) {
    if (!reply.ok()) return;
    if (reply.value().is_error()) return login->refused(login_refused({}, reply.value().text()));
    if (witness) witness->reauthenticated(login->who);
  };
  return std::make_shared<PlainRequest>(auth, resp::ReplyKind::kStatus, std::move(completed));
}

Status login_refused(const net::Address& server, std::string_view reply) {
  const std::string where = server.host.empty() ? "the server" : server.text();
  return Status::server(std::string(reply.substr(0, reply.find(' '))),
                        where + " refused AUTH: " + std::string(without_arguments(reply)));
}

std::string_view without_arguments(std::string_view reply) {
  return reply.substr(0, reply.find(", with args beginning with"));
}

Status refused_greeting(const std::string& address, const std::string& text,
                        const std::string& word, bool for_tracking) {
  const bool login = word == "WRONGPASS" || word == "NOAUTH";
  const char* hint = login || word == "NOPERM" ? "; check the user name and the password"
                                               : "; check the options of the client";
  if (word == "NOAUTH") hint = "; give the client a password";
  if (text.find("SELECT is not allowed in cluster mode") != std::string::npos) {
    hint =
        "; its clusters have database 0 only: leave the database out of the URL, or use a server "
        "with cluster-databases (Valkey 9)";
  } else if (text.find("DB index is out of range") != std::string::npos) {
    hint = "; see its setting databases, in a cluster cluster-databases";
  }
  if (for_tracking && !login) {
    hint =
        "; tracking='require' needs HELLO 3 and CLIENT TRACKING, and the right to them: "
        "tracking='auto' goes without";
  }
  return Status::server(word, address + " refused the connection: " + text + hint);
}

Status refused_at_once(const std::string& address, std::string_view error) {
  const std::string text = address + " refused the connection: " + std::string(error);
  switch (resp::refusal_of_client(error)) {
    case resp::Refusal::kProtected:
      return Status::server(std::string(resp::error_word(error)), text);
    case resp::Refusal::kFull:
      return Status::unreachable(text + "; raise its setting maxclients", Reach::kRefused);
    case resp::Refusal::kOther:
      break;
  }
  return Status::unreachable(text, Reach::kRefused);
}

}  // namespace holdfast::client
