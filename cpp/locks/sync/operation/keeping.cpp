#include "locks/sync/operation/keeping.h"

#include <memory>
#include <utility>
#include <vector>

namespace holdfast::sync {

std::shared_ptr<Keepings> new_keepings() { return std::make_shared<Keepings>(); }

void Keepings::close() {
  std::vector<ExchangePtr> granted;
  {
    const MutexLock lock(mutex_);
    for (Keeping* each = first_; each != nullptr; each = each->next_) {
      if (each->in_use_ || !each->acquire->over()) continue;
      each->closed_ = true;
      granted.push_back(each->acquire);
    }
  }
  for (const ExchangePtr& each : granted) each->cancel();
}

Keeping::Keeping(ExchangePtr its_acquire)
    : acquire(std::move(its_acquire)), all_(*acquire->context().keepings) {
  const MutexLock lock(all_.mutex_);
  next_ = std::exchange(all_.first_, this);
  if (next_ != nullptr) next_->here_ = &next_;
  here_ = &all_.first_;
}

bool Keeping::keep() {
  if (!use(true)) return false;
  unlink();
  return kept_ = true;
}

bool Keeping::use(bool begins) {
  if (inherited()) return true;
  const MutexLock lock(all_.mutex_);
  in_use_ = begins;
  return !closed_;
}

bool Keeping::closed() const {
  if (inherited()) return false;
  const MutexLock lock(all_.mutex_);
  return closed_;
}

void Keeping::undo() {
  kept_ = false;
  if (std::exchange(over_, true) || inherited()) return;
  unlink();
  acquire->cancel();
}

void Keeping::unlink() {
  if (inherited()) return;
  const MutexLock lock(all_.mutex_);
  if (here_ == nullptr) return;
  *here_ = next_;
  if (next_ != nullptr) next_->here_ = here_;
  here_ = nullptr;
}

}  // namespace holdfast::sync
