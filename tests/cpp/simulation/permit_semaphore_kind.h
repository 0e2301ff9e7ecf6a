#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulation/kind.h"

namespace holdfast::simulation {

// The permit semaphore: each permit that is out is a hold with a separate id, which is renewed.
class PermitSemaphoreKind final : public Kind {
 public:
  std::string word() const override { return "permit_semaphore"; }
  const sync::HoldRecipe& recipe(const LockName& lock) const override;
  void set_up(Keyspace& data, const std::string& name) const override;
  std::string name_of(const std::string& key) const override;
  std::string field(const LockName& lock, const std::string& owner) const override;
  std::vector<std::string> fields(const std::string& name, const std::string& owner) const override;
  Holders holders(Keyspace& data, const std::string& name) const override;
  bool may_share(const Holders& holders) const override;
  bool adds_up(Keyspace& data, const std::string& name) const override;
  bool admits(Keyspace& data, const LockName& lock, const std::string& owner) const override;
  std::optional<std::int64_t> free_at(const Holders& holders) const override;
  bool may_stay(Keyspace& data, const std::string& key, bool in_peace) const override;
};

}  // namespace holdfast::simulation
