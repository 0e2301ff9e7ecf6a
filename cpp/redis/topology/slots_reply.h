#pragma once

#include <cstdint>

#include "redis/resp/reply.h"

namespace holdfast::topology {

namespace slots_reply {

constexpr resp::ReplyKinds upto(std::int64_t most) {
  return resp::ReplyKinds(resp::ReplyKind::kInteger).within(0, most);
}
inline constexpr resp::ReplyKinds kArray = resp::ReplyKind::kArray;

// Host, port, and what later versions add.
inline constexpr resp::ReplyKinds kServerElements[] = {
    resp::ReplyKind::kText | resp::ReplyKind::kNil, upto(65535), resp::ReplyKinds::any()};
inline constexpr resp::ArrayRow kServerRows[] = {resp::ArrayRow(kServerElements, 1)};
inline constexpr resp::ArrayShape kServer(kServerRows);
inline constexpr resp::ReplyKinds kRangeElements[] = {upto(16383), upto(16383),
                                                      kArray.arrays_of(kServer)};
inline constexpr resp::ArrayRow kRangeRows[] = {resp::ArrayRow(kRangeElements, 1)};
inline constexpr resp::ArrayShape kRange(kRangeRows);
inline constexpr resp::ReplyKinds kElements[] = {kArray.arrays_of(kRange)};
inline constexpr resp::ArrayRow kRows[] = {resp::ArrayRow(kElements, 1)};
inline constexpr resp::ArrayShape kShape(kRows);

}  // namespace slots_reply

// The reply to CLUSTER SLOTS: of each range the first and the last slot, and the servers that have
// it, the primary first.
inline constexpr resp::ReplyKinds kSlotsReply = slots_reply::kArray.arrays_of(slots_reply::kShape);

}  // namespace holdfast::topology
