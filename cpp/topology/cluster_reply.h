#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "net/endpoint.h"
#include "resp/reply.h"
#include "topology/slot_map.h"

// The replies of a server about its cluster. An empty or unknown host in a reply ("", nil, "?")
// stands for the host at which the server was `queried`.
namespace holdfast::topology {

// The action that an error reply requires.
struct Redirection {
  enum class Kind {
    kNone,   // none: the error is for the sender of the command
    kMoved,  // the slot has moved to another server
    kAsk,    // this key is at another server, which accepts it only behind ASKING
    kStale,  // the cluster, or this server's place in it, has changed
  };
  Kind kind = Kind::kNone;
  Slot slot = 0;
  net::Address address{};  // of kMoved and kAsk
};
Redirection redirection(std::string_view error, const net::Address& queried);

// Slots from `first` to `last`, and their servers.
struct SlotRange {
  Slot first = 0;
  Slot last = 0;
  net::Address primary;
  std::vector<net::Address> replicas;
};

// The reply to CLUSTER SLOTS. Not OK for an error reply, for anything else than ranges of slots,
// and if no slot has a server.
Result<std::vector<SlotRange>> read_slots(const resp::Reply& reply, const net::Address& queried);

}  // namespace holdfast::topology
