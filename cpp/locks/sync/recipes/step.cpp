#include "locks/sync/recipes/step.h"

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "locks/sync/recipes/keys.h"
#include "redis/base/digits.h"

namespace holdfast::sync {

namespace {

constexpr std::size_t kHalf = kPermitIdSize / 2;
constexpr unsigned kByte = 8;

char* write_half(char* to, std::uint64_t half) {
  for (std::size_t i = kHalf; i-- > 0;) *to++ = static_cast<char>(half >> (i * kByte) & 0xffU);
  return to;
}

std::uint64_t read_half(std::string_view bytes) {
  std::uint64_t half = 0;
  for (const char byte : bytes) half = half << kByte | static_cast<unsigned char>(byte);
  return half;
}

// An id consists of the client's half and the number's half, mixed with a value that no other
// process has: a program that is started again with the same client id must not make the same ids.
// The client's begins with the digits that end the names of its connections, by which the tools
// find its program; what follows is hardly ever that of another client with these digits.
std::uint64_t client_half(std::string_view client_id) {
  constexpr std::size_t kDigits = 8;
  constexpr unsigned kBits = 32;
  thread_local std::pair<std::string, std::uint64_t> last;  // most often it is this one again
  auto& [known, half] = last;
  if (known == client_id) return half;
  std::uint32_t digits = 0;
  const std::string_view begin = client_id.substr(0, kDigits);
  (void)std::from_chars(begin.data(), begin.data() + begin.size(), digits, 16);
  const std::uint64_t hash = std::hash<std::string_view>()(client_id);
  known = client_id;
  return half = std::uint64_t{digits} << kBits | static_cast<std::uint32_t>(hash);
}

std::uint64_t number_half(std::uint64_t number) {
  static const std::uint64_t process = [] {
    std::random_device random;
    return static_cast<std::uint64_t>(random()) << 32U | random();
  }();
  return process ^ number;
}

// The keys that only the name says, in the order of Part.
constexpr std::array kKeys{keys::kLockChannel,    keys::kSemaphoreChannel,
                           keys::kLatchChannel,   keys::kSidesChannel,
                           keys::kBraced,         keys::kTokenCounter,
                           keys::kFairQueue,      keys::kFairTimeouts,
                           keys::kPermitTimeouts, keys::kSlots,
                           keys::kState,          keys::kChangedChannel};

constexpr std::string_view kWriterEnd = ":write";

// The number of the owner that a thread has last written, which is most often the next one, too.
struct OwnerDigits {
  OwnerNumber number{};
  std::size_t size = 0;
  std::array<char, kMostDigits> text{};
};

const OwnerDigits& digits_of(OwnerNumber number) {
  thread_local OwnerDigits known;
  OwnerDigits& kept = known;
  if (kept.size == 0 || kept.number != number) {
    kept.number = number;
    char* const begin = kept.text.data();
    kept.size =
        static_cast<std::size_t>(write_digits(begin, static_cast<std::uint64_t>(number)) - begin);
  }
  return kept;
}

// The field of an owner.
class Field {
 public:
  explicit Field(const Owner& owner) : client_(owner.client_id), number_(digits_of(owner.number)) {}
  std::size_t size() const { return client_.size() + 1 + number_.size; }
  // Returns its end.
  char* write(char* to) const {
    to = std::copy(client_.begin(), client_.end(), to);
    *to = ':';
    return std::copy_n(number_.text.data(), number_.size, to + 1);
  }

 private:
  const std::string_view client_;
  const OwnerDigits& number_;
};

void put_field(script::Call& call, const Owner& owner, std::string_view end = {}) {
  const Field field(owner);
  char* const to = field.write(call.add(field.size() + end.size()));
  std::copy(end.begin(), end.end(), to);
}

void put_key(script::Call& call, const Key& key, const LockName& name) {
  key.write(call.add(key.size(name)), name);
}

void put_key(script::Call& call, const Key& key, const Step& step, std::string_view end = {}) {
  const Field field(step.owner);
  char* to = call.add(key.size(step.name) + field.size() + end.size());
  to = field.write(key.write(to, step.name));
  std::copy(end.begin(), end.end(), to);
}

std::int64_t number(Part part, const Step& step) {
  switch (part) {
    case Part::kCount:
      return step.count;
    case Part::kLease:
      return step.lease.count();
    case Part::kStays:
      return step.stays.count();
    case Part::kQueueTimeout:
      return step.options.queue_timeout.count();
    case Part::kMemory:
      return step.options.memory.count();
    case Part::kRequestNumber:
      return step.options.request;
    case Part::kAmount:
      return step.options.amount;
    default:
      return step.options.setup;
  }
}

std::string_view text(Part part, const Step& step) {
  switch (part) {
    case Part::kName:
      return step.name.bytes();
    case Part::kOther:
      return step.other;
    case Part::kNext:
      return step.next;
    case Part::kPermits:
      return step.options.permits;
    case Part::kFirstTerm:
      return (*step.options.terms)[0];
    case Part::kSecondTerm:
      return (*step.options.terms)[1];
    case Part::kThirdTerm:
      return (*step.options.terms)[2];
    case Part::kRead:
      return "read";
    default:
      return "write";
  }
}

void put_text(script::Call& call, Part part, const Step& step) {
  switch (part) {
    case Part::kRequest:
      return put_key(call, keys::kRequest, step);
    case Part::kReadTimeout:
      return put_key(call, keys::kReadTimeout, step, keys::kReadTimeoutEnd);
    case Part::kOwner:
      return put_field(call, step.owner);
    case Part::kOtherOrOwner:
      if (step.other.empty()) return put_field(call, step.owner);
      call << step.other;
      return;
    case Part::kKeeper:
      return put_field(call, {step.owner.client_id, OwnerNumber{0}});
    case Part::kWriter:
      return put_field(call, step.owner, kWriterEnd);
    case Part::kPermitsOfOwner: {
      const std::int64_t amount = step.options.amount;
      char* const to = call.add(kPermitIdSize * static_cast<std::size_t>(amount));
      return write_permit_ids(to, step.owner, amount);
    }
    default:
      call << text(part, step);
  }
}

void put(script::Call& call, Part part, const Step& step) {
  if (part >= Part::kCount) {
    call << number(part, step);
  } else if (part < Part::kName) {
    put_key(call, kKeys[static_cast<std::size_t>(part)], step.name);
  } else {
    put_text(call, part, step);
  }
}

}  // namespace

void Row::write(script::Writer& out, const Step& step) const {
  script::Call call = out.call(*script_);
  for (std::size_t i = 0; i < size_; ++i) {
    const Part part = parts_[i];
    if (part == Part::kName) {
      call << step.name.bytes();
    } else if (part == Part::kPublish) {
      call << out.publish();
    } else {
      put(call, part, step);
    }
  }
}

void Row::write_each(script::Writer& out, const lease::HoldFields& holds, Millis lease) const {
  script::Call call = out.call_about(*script_, holds.size(), keys_of_each());
  for (const lease::HoldField& hold : holds) {
    for (std::size_t i = 0; i < keys_of_each(); ++i) put(call, parts_[i], {*hold.name, hold.owner});
  }
  call << lease.count();
  for (const lease::HoldField& hold : holds) {
    Step step{*hold.name, hold.owner};
    step.next = hold.about;
    put(call, parts_[keys_of_each()], step);
  }
}

void write_permit_ids(char* to, const Owner& first, std::int64_t amount) {
  const std::uint64_t client = client_half(first.client_id);
  for (std::int64_t i = 0; i < amount; ++i) {
    const auto number = static_cast<std::uint64_t>(owner_after(first.number, i));
    to = write_half(write_half(to, client), number_half(number));
  }
}

std::string permit_id(const std::string& client_id, OwnerNumber number) {
  std::string permit(kPermitIdSize, '\0');
  write_permit_ids(permit.data(), {client_id, number}, 1);
  return permit;
}

std::optional<OwnerNumber> permit_number(const std::string& client_id, std::string_view permit) {
  if (read_half(permit.substr(0, kHalf)) != client_half(client_id)) return std::nullopt;
  return OwnerNumber{number_half(read_half(permit.substr(kHalf)))};
}

}  // namespace holdfast::sync
