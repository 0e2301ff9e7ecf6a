#include <cstdint>

#include "simulation/kind.h"
#include "sync/lock.h"

namespace holdfast::simulation {

namespace {

// A hash, owner -> count, that expires as a whole.
Holders hash_holders(Keyspace& data, const std::string& name) {
  Holders holders;
  if (const Hash* hash = data.get<Hash>(name)) {
    const std::int64_t expires = data.find(name)->expires.value_or(INT64_MAX);
    for (const auto& [owner, count] : *hash) holders[owner] = {std::stoi(count), expires};
  }
  return holders;
}

class LockKind : public Kind {
 public:
  std::string word() const override { return "lock"; }
  const sync::Recipe& recipe(const LockName& /*lock*/) const override {
    return sync::lock_recipe();
  }
  Holders holders(Keyspace& data, const std::string& name) const override {
    return hash_holders(data, name);
  }
  bool admits(Keyspace& data, const LockName& lock, const std::string& /*owner*/) const override {
    return data.find(lock.bytes()) == nullptr;
  }
};

}  // namespace

const std::vector<const Kind*>& kinds() {
  static const LockKind lock;
  static const std::vector<const Kind*> all{&lock};
  return all;
}

}  // namespace holdfast::simulation
