#pragma once

#include <string_view>

namespace holdfast::resp {

// What an error reply means for the sender of the command. Its word is the first one of the reply:
// Redis makes them in createSharedObjects() (src/server.c), for a cluster in getNodeByQuery()
// (src/cluster.c), and Valkey has the same. The lint sees to it that no other file compares them.

// A state of the server that passes by itself: try again.
bool is_temporary(std::string_view text);
// The same, and that server will answer: it is starting, or busy.
bool passes_there(std::string_view text);
// What the client knows of the cluster may be old: another server is the primary by now.
bool is_of_old_topology(std::string_view text);
// The server is a replica: to a command, or to one of its script.
bool says_readonly(std::string_view text);
// The server does not know the script of the command, of which it has executed nothing.
bool is_unknown_script(std::string_view text);

// Its word (READONLY, OOM, ...), also where the server wraps what a script has met.
std::string_view error_word(std::string_view text);

// The reply without what the server wraps around an error that a script has met.
std::string_view error_text(std::string_view text);

}  // namespace holdfast::resp
