#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "redis/base/clock.h"
#include "redis/base/status.h"
#include "redis/client/tracking.h"
#include "redis/net/endpoint.h"
#include "redis/resp/command.h"
#include "redis/resp/reply.h"

namespace holdfast::client {

struct StreamOptions;

// The role of a server, as far as it is known.
enum class Role { kUnknown, kPrimary, kReplica };
// By a reply to ROLE or HELLO; an error, and another word, is kUnknown.
Role role_of(const resp::Reply& reply);

// The first commands of a stream, and their replies: AUTH, HELLO 3, SELECT, and last what a server
// may refuse: HELLO 2 for the server's role, CLIENT SETNAME, INFO and SETINFO. ROLE is only for a
// server that knows no HELLO: a service may refuse it, and a user needs a right to it. A machine
// without I/O, for the streams that one ReconnectingStream makes, one after the other.
class Greeting {
 public:
  // Why a stream is given up.
  struct Failure {
    Status why;
    bool reset = false;
  };

  // For a new stream: its commands are `unsent`.
  void begin(const StreamOptions& options, const net::Credentials& who, Tracking& tracking,
             TimePoint now);
  std::string unsent;
  bool answered() const { return missing_ == 0; }
  // The next reply.
  std::optional<Failure> take(const resp::Reply& reply, const StreamOptions& options,
                              Tracking& tracking, TimePoint now);
  // The stream has ended before that. Some servers hang up after a command that they do not know:
  // if all but what they may refuse was answered, the next stream leaves that out, and only that
  // one, since any connection may break.
  void broken();
  // It is about to, for another reason than the commands.
  void excuse() { excused_ = true; }

  // It has RESP3.
  bool resp3() const { return resp3_; }
  // The role that the server has named.
  Role role() const { return role_; }
  // The command that asks for it; role_of() reads the reply.
  resp::Command role_command() const;
  // The server's words about the connection, where a witness asks; else empty.
  std::string_view connection() const { return connection_; }

 private:
  void say(const resp::Command& command);
  void say_name(const StreamOptions& options);
  void ask_again(const StreamOptions& options);
  std::optional<Failure> take_optional(const resp::Reply& reply, const StreamOptions& options,
                                       Tracking& tracking, TimePoint now);
  std::optional<Failure> refused(const std::string& text, const StreamOptions& options,
                                 const Tracking& tracking) const;

  int missing_ = 0;         // replies
  int after_hello_ = -1;    // replies that come behind the one to HELLO
  int optional_ = 0;        // how many of the last replies may be errors
  bool says_role_ = false;  // the first of those is the one to ROLE
  enum class Asks : std::uint8_t { kHello, kRole, kNothing };
  Asks asks_ = Asks::kHello;  // for the role; the next one when a server refuses it
  Role role_ = Role::kUnknown;
  bool resp3_ = false;
  bool says_name_ = true;  // until a server refuses the client's name
  bool says_label_ = false;
  bool labelled_ = true;  // until a server refuses the label for a reason that stays
  bool spared_ = false;   // the next stream says nothing that a server may refuse
  bool spares_ = false;   // this one does not
  bool excused_ = false;
  std::string connection_;
};

}  // namespace holdfast::client
