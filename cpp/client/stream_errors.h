#pragma once

#include <string>
#include <string_view>

#include "base/event.h"
#include "base/status.h"
#include "resp/reply.h"

namespace holdfast::client {

// An error reply without the arguments of a command that the server does not know, which it
// repeats: those of AUTH and HELLO are passwords.
std::string_view without_arguments(std::string_view reply);

// `address` has answered the greeting with the error `text`, which begins with `word`.
// `for_tracking`: its client is made for servers with CLIENT TRACKING alone.
Status refused_greeting(const std::string& address, const std::string& text,
                        const std::string& word, bool for_tracking);

// The first reply on a stream says that the server takes no more clients.
bool says_full(const resp::Reply& reply);
// Then the server at `address` has said `text`, and hangs up.
Status refused_for_number(const std::string& address, const std::string& text);

// A stream was ended because of bytes that cannot be replies to what was sent.
Event protocol_error_event(const Status& why);

}  // namespace holdfast::client
