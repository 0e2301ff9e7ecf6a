#include "simulation/trust_trace.h"

namespace holdfast::simulation {

TrustTrace::TrustTrace(const World& world, Ledger& ledger, const Kind& kind,
                       std::optional<Violation>& violation)
    : world_(world), ledger_(ledger), kind_(kind), violation_(violation) {}

void TrustTrace::record(const TraceEntry& entry) {
  using Step = TraceEntry::Step;
  const std::string name(entry.name);
  const Hold hold{entry.side, entry.owner};
  switch (entry.step) {
    case Step::kGranted:
      trusted_[name][hold] = entry.until;
      return check(name, entry.owner);
    case Step::kRenewed:
    case Step::kExtended:
      trusted_[name][hold] = entry.until;
      return;
    case Step::kReleased:
    case Step::kLost:
      trusted_[name].erase(hold);
      return;
    default:
      return;
  }
}

bool TrustTrace::relies(const std::string& name, const Hold& hold, TimePoint until) const {
  if (world_.now() >= until) return false;
  const LockName lock(name, hold.first);
  const std::string& field = fields_.at(hold.second);
  return !ledger_.removed(lock, field) && !ledger_.cut_off(lock, field);
}

void TrustTrace::check(const std::string& name, OwnerNumber newcomer) {
  Holders together;
  for (const auto& [hold, until] : trusted_[name]) {
    if (!relies(name, hold, until)) continue;
    together[kind_.field(LockName(name, hold.first), fields_.at(hold.second))] = {1, 0};
  }
  if (violation_ || kind_.may_share(together)) return;
  std::string owners;
  for (const auto& [field, held] : together) owners += " " + field;
  violation_ = Violation{"granted " + name + " to " + fields_.at(newcomer) +
                         ", though these rely on it together:" + owners};
}

}  // namespace holdfast::simulation
