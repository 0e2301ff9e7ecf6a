#pragma once

#include <string>
#include <vector>

#include "redis/resp/reply.h"

namespace holdfast::sync {

// The replies that a plain command can have, with RESP2 and RESP3, by its words: `words` is not
// empty. EVAL of a script of lua/ has those of its header. any() of commands that neither the
// library nor its scripts send, and of other forms of those that they do.
resp::ReplyKinds replies_to(const std::vector<std::string>& words);

// Whether its reply is members with their scores: a list in RESP2, a list of pairs in RESP3.
bool has_scores(const std::vector<std::string>& words);

}  // namespace holdfast::sync
