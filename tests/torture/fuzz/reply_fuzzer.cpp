// Replies of RESP2 and RESP3 in arbitrary pieces: every method of Reply is called.

#include "byte_stream.h"
#include "redis/resp/reply.h"

namespace holdfast {
namespace {

std::size_t visit(const resp::Reply& reply) {
  std::size_t seen = reply.text().size() + static_cast<std::size_t>(reply.integer() & 1) +
                     reply.field("ip").size() + (reply.is_nil() ? 1U : 0U) +
                     (reply.is_error() ? 1U : 0U) + (reply.is_push() ? 1U : 0U);
  for (std::size_t i = 0; i < reply.size(); ++i) {
    seen += reply.text_at(i).size() + static_cast<std::size_t>(reply.integer_at(i) & 1) +
            visit(reply.at(i));
  }
  return seen + reply.text_at(reply.size()).size();
}

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  holdfast::fuzz::Pieces pieces(data, size);
  holdfast::resp::Reader reader;
  volatile std::size_t seen = 0;
  while (!pieces.empty()) {
    const std::string_view piece = pieces.next();
    reader.feed(piece.data(), piece.size());
    while (true) {
      const auto next = reader.next();
      if (!next.ok()) return 0;
      if (!next.value()) break;
      seen = seen + holdfast::visit(*next.value());
    }
  }
  return 0;
}
