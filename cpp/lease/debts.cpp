#include "lease/debts.h"

#include <utility>

namespace holdfast::lease {

void Debts::add(const LockName& name, OwnerNumber owner, std::shared_ptr<Debt> debt) {
  all_.emplace(owner, Owed{name, std::move(debt)});
}

void Debts::remove(OwnerNumber owner, const Debt& debt) {
  auto [at, end] = all_.equal_range(owner);
  while (at != end && at->second.debt.get() != &debt) ++at;
  if (at != end) all_.erase(at);
}

void Debts::cancel(const LockName& name, OwnerNumber owner) {
  if (all_.empty()) return;
  auto [at, end] = all_.equal_range(owner);
  while (at != end) {
    if (at->second.name == name) {
      at->second.debt->cancel();
      at = all_.erase(at);
    } else {
      ++at;
    }
  }
}

}  // namespace holdfast::lease
