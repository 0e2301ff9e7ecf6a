#include "sync/recipes/permit_semaphore.h"

#include <array>
#include <charconv>
#include <functional>
#include <random>

#include "lua_scripts.h"
#include "script/writer.h"
#include "sync/recipes/amount_step.h"
#include "sync/recipes/keys.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;

constexpr std::size_t kHalf = 8;
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
std::uint64_t client_half(std::string_view client_id) {
  return std::hash<std::string_view>()(client_id);
}

std::uint64_t number_half(std::uint64_t number) {
  static const std::uint64_t process = [] {
    std::random_device random;
    return static_cast<std::uint64_t>(random()) << 32U | random();
  }();
  return process ^ number;
}

void append_permit(std::string& out, std::string_view client_id, std::uint64_t number) {
  std::array<char, 2 * kHalf> permit;
  write_half(write_half(permit.data(), client_half(client_id)), number_half(number));
  out.append(permit.data(), permit.size());
}

void append_permit_argument(std::string& out, const std::string& client_id, OwnerNumber owner) {
  out += "$16\r\n";
  append_permit(out, client_id, static_cast<std::uint64_t>(owner));
  out += "\r\n";
}

// Those of an owner's field, "<client id>:<number>", and of the numbers that follow it.
std::string permits_of(std::string_view field, std::int64_t amount = 1) {
  const std::size_t colon = field.rfind(':');
  std::uint64_t number = 0;
  std::from_chars(field.data() + colon + 1, field.data() + field.size(), number);
  std::string permits;
  for (std::int64_t i = 0; i < amount; ++i) {
    append_permit(permits, field.substr(0, colon), number++);
  }
  return permits;
}

void renew_permits(script::Writer& out, const lease::HoldFields& holds, Millis lease) {
  script::Call call = out.call_about(lua::permit_semaphore_renew, holds.size(), 1);
  for (const lease::HoldField& hold : holds) call << permit_timeouts(*hold.name);
  call << lease.count();
  for (const lease::HoldField& hold : holds) call << permits_of(hold.owner);
}

void set_permits(script::Writer& out, const Step& step) {
  out.call(lua::permit_semaphore_set_permits)
      << step.name.bytes() << request_key(step.name, step.owner) << permit_timeouts(step.name)
      << semaphore_channel(step.name).bytes() << step.lease.count()
      << step.acquire_options.request_number() << step.acquire_options.amount << out.publish();
}

// The common part of all permits.
template <typename Base>
class Permit : public Base {
 public:
  std::vector<const script::Script*> scripts() const override {
    return {&lua::permit_semaphore_acquire, &lua::permit_semaphore_release,
            &lua::permit_semaphore_renew, &lua::permit_semaphore_check,
            &lua::permit_semaphore_extend};
  }

  std::string_view kind() const override { return "permit_semaphore"; }
  bool grants_end() const override { return true; }
  bool has_permits() const override { return true; }

  Channel channel(const LockName& name, const std::string& /*owner*/) const override {
    return semaphore_channel(name);
  }

  void acquire(script::Writer& out, const Step& step) const override {
    out.call(lua::permit_semaphore_acquire)
        << step.name.bytes() << permit_timeouts(step.name) << semaphore_channel(step.name).bytes()
        << permits_of(step.owner, step.acquire_options.amount) << step.lease.count()
        << out.publish() << step.acquire_options.setup;
  }

  OwnerArgument owner_argument() const override { return &append_permit_argument; }

  Answer acquired(const resp::Reply& reply) const override {
    if (!reply.is_array()) return {Answer::Kind::kHeld, Millis(reply.integer())};
    const std::int64_t free = reply.integer_at(0);
    const bool says_all = reply.size() > 2;
    Answer answer{Answer::Kind::kGranted, Millis(reply.integer_at(1))};
    if (says_all) answer.other = reply.integer_at(2);
    answer.more = free > 0;
    if (free >= 0) return answer;
    answer.kind = Answer::Kind::kHeld;
    answer.value = -free - (says_all ? 1 : 0);
    return answer;
  }

  void release(script::Writer& out, const Step& step) const override {
    release_permit(out, step.name, permits_of(step.owner, step.acquire_options.amount));
  }
};

class LeasedPermit final : public Permit<TakingRecipe> {
 public:
  void write_again(script::Writer& out, const LockName& name, const std::string& owner,
                   Millis lease) const override {
    renew_permits(out, {{&name, owner}}, lease);
  }
  bool written_again(const resp::Reply& reply) const override { return reply.size() == 0; }
};

class RenewedPermit final : public Permit<HoldRecipe> {
 public:
  bool owners_return() const override { return false; }

  void renew(script::Writer& out, const lease::HoldFields& holds, Millis lease) const override {
    renew_permits(out, holds, lease);
  }

  void check(script::Writer& out, const LockName& name, const std::string& owner) const override {
    out.call(lua::permit_semaphore_check) << permit_timeouts(name) << permits_of(owner);
  }

  std::vector<std::string> keys(const LockName& name, const std::string& /*owner*/) const override {
    return {permit_timeouts(name)};
  }

  void extend(script::Writer& out, const Step& step) const override {
    extend_permit(out, step.name, permits_of(step.owner), step.lease);
  }
};

}  // namespace

const HoldRecipe& renewed_permit_recipe() {
  static const RenewedPermit recipe;
  return recipe;
}

const TakingRecipe& leased_permit_recipe() {
  static const LeasedPermit recipe;
  return recipe;
}

const CounterStep& add_permits_step() {
  static constexpr CounterStep kStep{"add_permits",
                                     &write_amount<lua::permit_semaphore_add_permits>};
  return kStep;
}

const CounterStep& set_permits_step() {
  static constexpr CounterStep kStep{"set_permits", &set_permits};
  return kStep;
}

std::string permit_id(const std::string& client_id, OwnerNumber number) {
  std::string permit;
  append_permit(permit, client_id, static_cast<std::uint64_t>(number));
  return permit;
}

std::optional<OwnerNumber> permit_number(const std::string& client_id, std::string_view permit) {
  if (read_half(permit.substr(0, kHalf)) != client_half(client_id)) return std::nullopt;
  return OwnerNumber{number_half(read_half(permit.substr(kHalf)))};
}

void release_permit(script::Writer& out, const LockName& name, std::string_view permits) {
  out.call(lua::permit_semaphore_release)
      << name.bytes() << permit_timeouts(name) << semaphore_channel(name).bytes() << permits
      << out.publish();
}

void release_together(script::Writer& out, const Step& step, std::string_view permits) {
  out.call(lua::permit_semaphore_release_many)
      << step.name.bytes() << request_key(step.name, step.owner) << permit_timeouts(step.name)
      << semaphore_channel(step.name).bytes() << step.lease.count()
      << step.acquire_options.request_number() << permits << out.publish();
  const auto number = static_cast<std::int64_t>(permits.size() / (2 * kHalf));
  out.expect(-number, number);
}

void extend_permit(script::Writer& out, const LockName& name, std::string_view permit,
                   Millis lease) {
  out.call(lua::permit_semaphore_extend) << permit_timeouts(name) << semaphore_channel(name).bytes()
                                         << permit << lease.count() << out.publish();
}

void try_set_permits(script::Writer& out, const LockName& name, std::int64_t permits) {
  out.call(lua::permit_semaphore_try_set_permits)
      << name.bytes() << permit_timeouts(name) << semaphore_channel(name).bytes() << permits
      << out.publish();
}

void available_permits(script::Writer& out, const LockName& name) {
  out.call(lua::permit_semaphore_available_permits)
      << name.bytes() << permit_timeouts(name) << semaphore_channel(name).bytes() << out.publish();
}

void permits(script::Writer& out, const LockName& name) {
  out.call(lua::permit_semaphore_permits) << name.bytes() << permit_timeouts(name);
}

void acquired_permits(script::Writer& out, const LockName& name) {
  out.call(lua::permit_semaphore_acquired_permits) << permit_timeouts(name);
}

void permit_lease_left(script::Writer& out, const LockName& name, std::string_view permit) {
  out.call(lua::permit_semaphore_lease_left) << permit_timeouts(name) << permit;
}

void delete_permits(script::Writer& out, const LockName& name) {
  out.call(lua::permit_semaphore_delete) << name.bytes() << permit_timeouts(name);
}

}  // namespace holdfast::sync
