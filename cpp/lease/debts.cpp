#include "lease/debts.h"

#include <algorithm>
#include <utility>

namespace holdfast::lease {

void Debts::add(const LockName& name, OwnerNumber owner, std::shared_ptr<Debt> debt, bool covers) {
  auto [at, end] = all_.equal_range(owner);
  while (at != end) {
    const Owed& before = at->second;
    if (covers && before.covers && before.name == name) {
      debt->deadline = std::max(debt->deadline, before.debt->deadline);
      before.debt->abandon();
      at = all_.erase(at);
    } else {
      ++at;
    }
  }
  all_.emplace(owner, Owed{name, std::move(debt), covers});
}

void Debts::remove(OwnerNumber owner, const Debt& debt) {
  auto [at, end] = all_.equal_range(owner);
  while (at != end && at->second.debt.get() != &debt) ++at;
  if (at != end) all_.erase(at);
}

bool Debts::cancel(const LockName& name, OwnerNumber owner) {
  if (all_.empty()) return false;
  bool any = false;
  auto [at, end] = all_.equal_range(owner);
  while (at != end) {
    const bool of_it = at->second.name == name;
    const bool stays = !of_it || at->second.debt->cancel();
    any = any || of_it;
    at = stays ? std::next(at) : all_.erase(at);
  }
  return any;
}

}  // namespace holdfast::lease
