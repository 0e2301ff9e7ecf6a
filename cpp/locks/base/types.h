#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "locks/base/ref.h"
#include "redis/base/clock.h"

namespace holdfast {

// Selects one of the locks that share a name: a read-write lock consists of two, with separate
// holds.
enum class Side : std::uint8_t { kWhole, kRead, kWrite };

// The name of a lock or synchronizer on the server: its main key, prefix included. Any bytes.
// Copies share them; one that was moved from has none.
class LockName {
 public:
  explicit LockName(std::string_view bytes, Side side = Side::kWhole)
      : text_(Text::of(bytes)), side_(side) {}
  LockName(const LockName& other, Side side) : text_(other.text_), side_(side) {}

  std::string_view bytes() const { return text_->bytes(); }
  std::string text() const { return std::string(bytes()); }
  // It contains a brace: it may say which part of it a cluster hashes.
  bool has_brace() const { return text_->brace != 0; }
  Side side() const { return side_; }
  // The hash of the bytes; computed once.
  std::size_t hash() const { return text_->hash; }
  bool operator==(const LockName& other) const {
    return side_ == other.side_ && (text_ == other.text_ || bytes() == other.bytes());
  }

 private:
  // One piece of memory, in which the bytes follow the object.
  class Text {
   public:
    static Ref<Text> of(std::string_view bytes);
    std::string_view bytes() const { return {reinterpret_cast<const char*>(this + 1), size}; }

    const std::size_t hash;
    const std::uint32_t size : 31;
    const std::uint32_t brace : 1;  // it contains one

   private:
    explicit Text(std::string_view bytes);
    friend void add_reference(Text& text) { text.references_.add(); }
    friend void drop_reference(Text& text) {
      if (text.references_.drop()) destroy(text);
    }
    static void destroy(Text& text);

    ReferenceCount references_;
  };

  Ref<Text> text_;
  Side side_;
};

// A thread, a task, a hold or a request. Numbers grow and are never used again in a process. A
// process starts at a random one from kFirstOwnerNumber on, so that a program that is started again
// with the same client id does not find its predecessor's data on the server. All stay below
// kOwnerNumbersEnd, which Lua and JSON hold exactly; Redisson's thread ids stay below the first.
enum class OwnerNumber : std::uint64_t {};
constexpr std::uint64_t kFirstOwnerNumber = std::uint64_t{1} << 40U;
constexpr std::uint64_t kOwnerNumbersEnd = std::uint64_t{1} << 52U;

// The field of a ticket has a number from kOwnerNumbersEnd on: it names no
// thread, task or hold. Lua and JSON hold these exactly, too.
constexpr std::uint64_t kTicketNumbersEnd = 2 * kOwnerNumbersEnd;
constexpr OwnerNumber ticket_number(OwnerNumber owner) {
  return OwnerNumber{static_cast<std::uint64_t>(owner) + kOwnerNumbersEnd};
}

// The next number, or the first of the next `count`; thread-safe.
OwnerNumber next_owner_number(std::int64_t count = 1);
constexpr OwnerNumber owner_after(OwnerNumber first, std::int64_t count) {
  return OwnerNumber{static_cast<std::uint64_t>(first) + static_cast<std::uint64_t>(count)};
}

// "<client's UUID>:<number>": the field of an owner, Redisson's <UUID>:<threadId>.
inline std::string owner_field(std::string_view client_id, OwnerNumber owner) {
  const std::string number = std::to_string(static_cast<std::uint64_t>(owner));
  std::string field;
  field.reserve(client_id.size() + 1 + number.size());
  field += client_id;
  field += ':';
  field += number;
  return field;
}

// The purpose of a hold, as its owner says. Constant, and shared by all that name it.
class PurposeText {
 public:
  explicit PurposeText(std::string its_text) : text(std::move(its_text)) {}

  const std::string text;

 private:
  friend void add_reference(PurposeText& purpose) { purpose.references_.add(); }
  friend void drop_reference(PurposeText& purpose) {
    if (purpose.references_.drop()) delete &purpose;
  }

  ReferenceCount references_;
};
// Null: its owner does not say.
using Purpose = Ref<PurposeText>;

// The duration of a grant: a fixed time, or as long as it is renewed (`renewed`).
struct Lease {
  Millis time{30000};
  bool renewed = true;
};

// The end of the validity of a hold that was set or renewed by a command sent at `sent`: the lease
// less 1 % for clocks that run at different speeds and 2 ms for the server's granularity (Redlock's
// margins); for a very short lease at least half of it.
constexpr TimePoint trusted_until(TimePoint sent, Millis lease) {
  const Duration whole = lease;
  const Duration margin = whole / 100 + Millis(2);
  return after(sent, margin < whole / 2 ? whole - margin : whole / 2);
}

// When what is there until then, by this client's clock, is over on the server for certain, whose
// clock may be slower.
constexpr TimePoint surely_over(TimePoint now, TimePoint until) {
  return after(until, (until - now) / 50 + Millis(250));
}

// The shortest lease that is valid until `until` when a command sent at `sent` sets it.
constexpr Millis lease_until(TimePoint sent, TimePoint until) {
  const std::int64_t left = std::chrono::duration_cast<Millis>(until - sent).count();
  return Millis(left + left / 99 + 4);
}

// An owner as commands name it, by its field: see owner_field(). Borrows the client's id.
struct Owner {
  Owner() = default;
  Owner(std::string_view client, OwnerNumber of) : client_id(client), number(of) {}
  // The owner of a field.
  template <typename Text,
            typename = std::enable_if_t<std::is_convertible_v<const Text&, std::string_view>>>
  Owner(const Text& text) {  // NOLINT(google-explicit-constructor): a field names one owner
    const std::string_view field = text;
    const std::size_t colon = field.rfind(':');
    std::uint64_t digits = 0;
    std::from_chars(field.data() + colon + 1, field.data() + field.size(), digits);
    client_id = field.substr(0, colon);
    number = OwnerNumber{digits};
  }

  std::string_view client_id{};
  OwnerNumber number{};
};

// A random UUID in the spelling of Java's UUID.toString(). Its version is 8 (RFC 9562), that of
// Redisson's clients is 4. Any thread.
std::string fresh_uuid();

}  // namespace holdfast
