#include "client/stream_errors.h"

namespace holdfast::client {

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

bool says_full(const resp::Reply& reply) {
  constexpr std::string_view kFull = "ERR max number of clients";
  return reply.is_error() && reply.text().substr(0, kFull.size()) == kFull;
}

Status refused_for_number(const std::string& address, const std::string& text) {
  return Status::unreachable(
      address + " refused the connection: " + text + "; raise its setting maxclients",
      Reach::kRefused);
}

Event protocol_error_event(const Status& why) {
  Event event;
  event.kind = Event::Kind::kProtocolError;
  event.reason = why.message();
  return event;
}

}  // namespace holdfast::client
