#pragma once

#include <cstdint>

#include "resp/reply.h"

namespace holdfast::resp {

// The kinds of reply that a command can have beside an error, which any command can. A reply of
// another kind is not the one to this command: requests and replies of its stream are out of step.
class ReplyKinds {
 public:
  constexpr ReplyKinds(ReplyKind kind) : bits_(bit(kind)) {}  // NOLINT: a single one
  static constexpr ReplyKinds any() { return ReplyKinds(0xff); }

  constexpr ReplyKinds operator|(ReplyKinds other) const {
    return ReplyKinds(static_cast<std::uint8_t>(bits_ | other.bits_));
  }
  constexpr bool operator==(ReplyKinds other) const { return bits_ == other.bits_; }

  bool allow(const Reply& reply) const { return reply.is_error() || allow(reply.kind()); }
  constexpr bool allow(const PlainReply& reply) const { return allow(reply.kind()); }

 private:
  constexpr explicit ReplyKinds(std::uint8_t bits) : bits_(bits) {}
  static constexpr std::uint8_t bit(ReplyKind kind) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(kind));
  }
  constexpr bool allow(ReplyKind kind) const { return (bits_ & bit(kind)) != 0; }

  std::uint8_t bits_;
};

constexpr ReplyKinds operator|(ReplyKind one, ReplyKind other) {
  return ReplyKinds(one) | ReplyKinds(other);
}

}  // namespace holdfast::resp
