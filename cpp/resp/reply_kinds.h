#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "resp/reply.h"

namespace holdfast::resp {

// The replies that a command can have beside an error, which any command can: their kinds, and the
// range of each. Any other reply is not the one to this command: requests and replies of its stream
// are out of step.
class ReplyKinds {
 public:
  // What an array is, whose elements are integers.
  enum class Array : std::uint8_t {
    kAny,     // of anything
    kFew,     // two numbers, or three
    kPlaces,  // some of the numbers from 1 to count(), in order
    kEach,    // count() numbers, none below 0
  };

  static constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

  constexpr ReplyKinds(ReplyKind kind) : bits_(bit(kind)) {}  // NOLINT: a single one
  static constexpr ReplyKinds any() { return ReplyKinds(std::uint8_t{0xff}); }

  // Of kinds without ranges.
  constexpr ReplyKinds operator|(ReplyKinds other) const {
    return ReplyKinds(static_cast<std::uint8_t>(bits_ | other.bits_));
  }
  // An integer is one of these.
  constexpr ReplyKinds within(std::int64_t least, std::int64_t most) const {
    ReplyKinds made = *this;
    made.least_ = least;
    made.most_ = most;
    return made;
  }
  // A text is an integer in decimal digits.
  constexpr ReplyKinds decimal() const {
    ReplyKinds made = *this;
    made.decimal_ = true;
    return made;
  }
  constexpr ReplyKinds arrays_of(Array array) const {
    ReplyKinds made = *this;
    made.array_ = array;
    return made;
  }
  // The number of things that the command is about, for arrays of kPlaces and kEach.
  constexpr ReplyKinds about(std::size_t count) const {
    ReplyKinds made = *this;
    made.count_ = count;
    return made;
  }

  constexpr bool operator==(const ReplyKinds& other) const {
    return bits_ == other.bits_ && decimal_ == other.decimal_ && array_ == other.array_ &&
           count_ == other.count_ && least_ == other.least_ && most_ == other.most_;
  }

  bool allow(const Reply& reply) const;
  bool allow(const PlainReply& reply) const {
    const ReplyKind kind = reply.kind();
    if (!allow(kind)) return false;
    if (kind == ReplyKind::kInteger) return allow(*reply.integer);
    return kind == ReplyKind::kNil || fits(reply);
  }

 private:
  constexpr explicit ReplyKinds(std::uint8_t bits) : bits_(bits) {}
  static constexpr std::uint8_t bit(ReplyKind kind) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(kind));
  }
  constexpr bool allow(ReplyKind kind) const { return (bits_ & bit(kind)) != 0; }
  constexpr bool allow(std::int64_t number) const { return least_ <= number && number <= most_; }
  bool allow_text(std::string_view text) const;
  template <typename Element>
  bool allow_array(std::size_t size, const Element& element) const;
  bool allow_size(std::size_t size) const;
  bool allow_element(std::int64_t number, std::int64_t before) const;
  bool fits(const PlainReply& reply) const;  // of a text or an array

  std::uint8_t bits_;
  bool decimal_ = false;
  Array array_ = Array::kAny;
  std::size_t count_ = 0;
  std::int64_t least_ = kLeast;
  std::int64_t most_ = kMost;
};

constexpr ReplyKinds operator|(ReplyKind one, ReplyKind other) {
  return ReplyKinds(one) | ReplyKinds(other);
}

}  // namespace holdfast::resp
