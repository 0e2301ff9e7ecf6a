#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::resp {

// What an error reply means for the sender of the command. Its word is the first one of the reply:
// Redis makes them in createSharedObjects() (src/server.c), for a cluster in getNodeByQuery()
// (src/cluster.c), and Valkey has the same. The lint sees to it that no other file compares them.

// Which errors pass for which commands is one table in error_reply.cpp; docs/faults.md has it, too,
// under *Errors that pass*.

// A state of the server that passes by itself: a call tries again.
bool is_temporary(std::string_view text);
// The error passes, and that server will answer: it is starting, or busy.
bool passes_there(std::string_view text);
// The server does not work for the moment, whatever the command.
bool is_out_of_order(std::string_view text);
// What the client knows of the cluster may be old: another server is the primary by now.
bool is_of_old_topology(std::string_view text);
// When a release tries again, which takes more time than a call has: until the lease is over.
enum class Pace : std::uint8_t {
  kNever,       // that error stays
  kSoon,        // it passes as for a call, or where people see to the server
  kEachSecond,  // the server refuses the client, for its password or where it comes from
};
Pace pace_of_release(std::string_view text);
// The server is a replica: to a command, or to one of its script, or to WAIT.
bool says_readonly(std::string_view text);
// What a replica says to a PING, if it is asked as a primary.
inline constexpr std::string_view kReplicaReply = "-READONLY it is a replica, as it says\r\n";
// What a server says in the place of the first reply, whatever was sent, when it hangs up: it has
// as many clients as it may, or its protected mode is for clients of the same machine. kOther: any
// other error, which may be a reply.
enum class Refusal : std::uint8_t { kOther, kFull, kProtected };
Refusal refusal_of_client(std::string_view text);
// The server does not know the script of the command, of which it has executed nothing.
bool is_unknown_script(std::string_view text);

// The server lacks a command that a script has called: on which line of the script, from 1 on;
// nothing: it is another error.
std::optional<std::size_t> line_of_unknown_command(std::string_view text);

// Its word (READONLY, OOM, ...), also where the server wraps what a script has met.
std::string_view error_word(std::string_view text);

// The reply without what the server wraps around an error that a script has met.
std::string_view error_text(std::string_view text);

}  // namespace holdfast::resp
