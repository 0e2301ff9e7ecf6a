#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "locks/sync/recipes/recipe.h"
#include "support/keyspace.h"
#include "support/world.h"

namespace holdfast::simulation {

// Who has what, by the server: owner's field -> hold.
struct Held {
  int count = 0;
  std::int64_t expires = 0;  // in the server's milliseconds

  bool operator!=(const Held& other) const {
    return count != other.count || expires != other.expires;
  }
  bool operator==(const Held& other) const { return !(*this != other); }
};
using Holders = std::map<std::string, Held>;

// A waiter in line, and until when the server takes it for alive.
struct Place {
  std::string owner;
  std::int64_t alive = 0;
};
using Line = std::vector<Place>;

// What the schedules have to know of a kind of lock: how to ask for it, how to read what the server
// has of it, and which rule it keeps. The rules are stated here on their own; the scripts are
// judged by them.
class Kind {
 public:
  virtual ~Kind() = default;

  virtual std::string word() const = 0;
  virtual const sync::HoldRecipe& recipe(const LockName& lock) const { return *lock_recipe(lock); }
  // The same; null: it is no lock, and recipe() is overridden.
  virtual const sync::LockRecipe* lock_recipe(const LockName& /*lock*/) const { return nullptr; }
  // The sides of one name.
  virtual const std::vector<Side>& sides() const {
    static const std::vector<Side> whole{Side::kWhole};
    return whole;
  }
  virtual sync::AcquireOptions acquire_options(Random& /*random*/) const { return {}; }

  // The state before the first attempt.
  virtual void set_up(Keyspace& /*data*/, const std::string& /*name*/) const {}
  // The name that a script is about, by its first key.
  virtual std::string name_of(const std::string& key) const { return key; }

  // The field by which the server knows an owner's hold.
  virtual std::string field(const LockName& /*lock*/, const std::string& owner) const {
    return owner;
  }
  // All of those that a script for `owner`, its first argument, may take away.
  virtual std::vector<std::string> fields(const std::string& name, const std::string& owner) const {
    std::vector<std::string> all;
    for (const Side side : sides()) all.push_back(field(LockName(name, side), owner));
    return all;
  }
  virtual Holders holders(Keyspace& data, const std::string& name) const = 0;
  // They may hold it at the same time.
  virtual bool may_share(const Holders& holders) const { return holders.size() <= 1; }
  // What is there and what is held are together what there was.
  virtual bool adds_up(Keyspace& /*data*/, const std::string& /*name*/) const { return true; }
  // Until when those who wait may think that they cannot have it; nothing while they can.
  virtual std::optional<std::int64_t> free_at(const Holders& holders) const {
    std::optional<std::int64_t> last;
    for (const auto& [field, hold] : holders) last = std::max(last.value_or(0), hold.expires);
    return last;
  }
  // The owner, who holds nothing, waits for what it could have.
  virtual bool admits(Keyspace& data, const LockName& lock, const std::string& owner) const = 0;
  // Those who stand in line on the server, the first one first; only where it keeps the order.
  virtual Line line(Keyspace& /*data*/, const std::string& /*name*/) const { return {}; }
  // The shortest backoff of a waiter between two attempts without a message.
  virtual Duration backoff(const sync::AcquireOptions& /*acquire_options*/) const {
    return Duration::max();
  }
  // Its grants bring tokens, each greater than all before it.
  virtual bool makes_tokens() const { return false; }
  // Whether the key may stay after all owners have left; `in_peace`: no fault kept an owner from
  // removing it.
  virtual bool may_stay(Keyspace& /*data*/, const std::string& /*key*/, bool /*in_peace*/) const {
    return false;
  }
};

// All there are.
const std::vector<const Kind*>& kinds();

}  // namespace holdfast::simulation
