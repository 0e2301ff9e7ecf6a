#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "net/endpoint.h"
#include "resp/reply.h"
#include "topology/slot.h"

// What a server of a cluster says about the others. Where it leaves a host out, or does not know
// one ("", nil, "?"), it means the host at which it was `asked` itself.
namespace holdfast::topology {

// What an error reply demands.
struct Redirection {
  enum class Kind {
    kNone,   // nothing: it is for the sender of the command
    kMoved,  // the slot is another's, for good
    kAsk,    // this key is at another, which takes it only behind an ASKING
    kStale,  // the cluster, or this server's place in it, is not what it was
  };
  Kind kind = Kind::kNone;
  Slot slot = 0;
  net::Address address{};  // of kMoved and kAsk
};
Redirection redirection(std::string_view error, const net::Address& asked);

// Slots from `first` to `last`, and whose they are.
struct SlotRange {
  Slot first = 0;
  Slot last = 0;
  net::Address primary;
  std::vector<net::Address> replicas;
};

// The reply to CLUSTER SLOTS. Not OK for an error reply, for anything else than ranges of slots,
// and if no slot has a server.
Result<std::vector<SlotRange>> read_slots(const resp::Reply& reply, const net::Address& asked);

}  // namespace holdfast::topology
