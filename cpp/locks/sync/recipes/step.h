#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "locks/base/types.h"
#include "locks/lease/renewal.h"
#include "redis/base/clock.h"
#include "redis/script/writer.h"

namespace holdfast::sync {

// A caller's terms in an acquire of a kind that is built on another one, in the order of the
// script's arguments.
using Terms = std::array<std::string, 3>;

// Further arguments of the steps of some kinds.
struct StepOptions {
  Millis queue_timeout{0};     // how long the server keeps its place in the queue; 0: takes none
  Millis memory{0};            // how long the server remembers its request
  std::int64_t amount = 1;     // how many permits
  std::int64_t request = 1;    // the number of the request; its slot is the owner
  std::int64_t setup = -1;     // the permits to set up where there is no counter; -1: none
  std::string_view permits{};  // ids of permits, as one text
  const Terms* terms = nullptr;
};

// The arguments of one command. Borrows.
struct Step {
  const LockName& name;
  Owner owner{};
  int count = 0;  // the hold count afterwards
  Millis lease{0};
  StepOptions options{};
  // The field of the owner to which the hold goes; of a client's key what it says.
  std::string_view next{};
  // For a last release:
  std::string_view other{};  // another field that may have the hold by now; empty: none
  Millis stays{0};           // what remains of the minimum hold time, for kinds that have one
};

// One parameter of a command.
enum class Part : std::uint8_t {
  // Keys and channels that are derived from the name: see keys.h.
  kLockChannel,
  kSemaphoreChannel,
  kLatchChannel,
  kSidesChannel,
  kBraced,
  kTokenCounter,
  kFairQueue,
  kFairTimeouts,
  kPermitTimeouts,
  kSlots,
  kState,
  kChangedChannel,
  // Texts.
  kName,
  kRequest,      // the key of the owner's request
  kReadTimeout,  // the key of the owner's first read hold
  kOwner,
  kOther,
  kOtherOrOwner,
  kNext,
  kKeeper,  // the field that keeps the lock for the rest of the minimum hold time
  kWriter,  // the owner's field as a writer
  kPermitsOfOwner,
  kPermits,
  kFirstTerm,
  kSecondTerm,
  kThirdTerm,
  kRead,
  kWrite,
  kPublish,
  // Numbers.
  kCount,
  kLease,
  kStays,
  kQueueTimeout,
  kMemory,
  kRequestNumber,
  kAmount,
  kSetup,
};

// The form of a command: its script, or its word, and the parameters in order. Without a script it
// stands for a step that a kind does not have.
class Row {
 public:
  constexpr Row() = default;
  constexpr Row(const script::Script& script, std::initializer_list<Part> parts)
      : script_(&script), size_(static_cast<std::uint8_t>(parts.size())) {
    const bool counted = script.head.empty() || parts.size() == script.keys + script.args;
    if (!counted) throw std::logic_error("the script has another number of parameters");
    std::size_t at = 0;
    for (const Part part : parts) parts_[at++] = part;
  }
  constexpr explicit operator bool() const { return script_ != nullptr; }

  void write(script::Writer& out, const Step& step) const;
  // About several holds: the keys of each, the lease, and the last part of each.
  void write_each(script::Writer& out, const lease::HoldFields& holds, Millis lease) const;

  std::size_t keys_of_each() const { return size_ - 1U; }
  // Null for a plain command.
  const script::Script* script() const {
    return script_ == nullptr || script_->text.empty() ? nullptr : script_;
  }

 private:
  static constexpr std::size_t kMost = 11;

  const script::Script* script_ = nullptr;
  std::array<Part, kMost> parts_{};
  std::uint8_t size_ = 0;
};

// The id of the permit that this client takes under `number`, unique among all clients and
// processes; and the number of an id that this client has made.
inline constexpr std::size_t kPermitIdSize = 16;
std::string permit_id(const std::string& client_id, OwnerNumber number);
std::optional<OwnerNumber> permit_number(const std::string& client_id, std::string_view permit);

// Writes the ids of an owner and of those whose numbers follow.
void write_permit_ids(char* to, const Owner& first, std::int64_t amount);

}  // namespace holdfast::sync
