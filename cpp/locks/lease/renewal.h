#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "locks/base/types.h"
#include "redis/resp/reply.h"
#include "redis/script/writer.h"

namespace holdfast::lease {

// One of the holds that a command renews. Borrowed.
struct HoldField {
  const LockName* name;
  Owner owner;
  std::string_view about{};  // see HoldExtras
};
using HoldFields = std::vector<HoldField>;

// How a kind of lock keeps holds alive on the server; stateless, one object for each kind.
class Renewal {
 public:
  virtual ~Renewal() = default;
  // The kind, for people: a literal.
  virtual std::string_view word() const = 0;
  // A command that sets the lease anew of each of these holds that its owner still holds. In a
  // cluster they are of one slot. Where the server refuses one of them, the reply is an error, and
  // some may be renewed.
  virtual void renew(script::Writer& out, const HoldFields& holds, Millis lease) const = 0;
  // What the reply to that, an array, says of each of the holds, by their number: 1 or more, or 0:
  // it is gone. By default the array has the numbers of those that are gone, from 1 on.
  virtual std::vector<std::int64_t> renewed(const resp::Reply& reply, std::size_t holds) const;
  // How many keys the command has for each hold.
  virtual std::size_t renewed_keys() const { return 1; }
  // The time that was left of the lease before renew(), by renewed() above 0, for a kind whose
  // lease another program's owners may shorten while the hold goes on.
  virtual std::optional<Millis> found(std::int64_t /*reply*/) const { return std::nullopt; }
  // Whether it is there, without a change. Replies the ms that are left of the lease, -1 for a
  // lease without end, or 0.
  virtual void check(script::Writer& out, const LockName& name, const std::string& owner) const = 0;
  // The keys that renew() and check() read, and name as keys of their scripts, as Redis before 7.2
  // tracks those: a hold does not end or become shorter unless one of them changes. At most two.
  virtual std::vector<std::string> keys(const LockName& name, const std::string& /*owner*/) const {
    return {name.text()};
  }
};

}  // namespace holdfast::lease
