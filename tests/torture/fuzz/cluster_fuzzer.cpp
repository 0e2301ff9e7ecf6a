// What a server of a cluster says: replies to CLUSTER SLOTS, and errors that send elsewhere.

#include <cstdlib>

#include "byte_stream.h"
#include "redis/resp/reply.h"
#include "redis/topology/slots_query.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast;
  const net::Address asked{"127.0.0.1", 6379, {}};
  fuzz::Pieces pieces(data, size);
  resp::Reader reader;
  while (!pieces.empty()) {
    const std::string_view piece = pieces.next();
    (void)topology::redirection(piece, asked);
    reader.feed(piece.data(), piece.size());
    const auto next = reader.next();
    if (!next.ok()) return 0;
    if (!next.value()) continue;
    const auto ranges = topology::read_slots(*next.value(), asked);
    if (!ranges.ok()) continue;
    if (ranges.value().empty()) std::abort();
    for (const topology::SlotRange& range : ranges.value()) {
      if (range.first > range.last || range.last >= topology::kSlots) std::abort();
    }
  }
  return 0;
}
