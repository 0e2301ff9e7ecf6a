#include "base/wake_batch.h"

namespace holdfast {

namespace {
thread_local WakeBatch* g_current = nullptr;
}  // namespace

WakeBatch::WakeBatch() : outer_(g_current) {
  if (outer_ == nullptr) g_current = this;
}

WakeBatch::~WakeBatch() {
  if (outer_ != nullptr) return;
  g_current = nullptr;
  if (size_ == 0) return;
  Parker::Notifier notifier;
  for (std::size_t i = 0; i < size_; ++i) notifier.notify(*few_[i]);
  for (Parker* const parker : more_) notifier.notify(*parker);
}

void WakeBatch::notify(Parker& parker) {
  if (g_current == nullptr) return parker.notify();
  g_current->add(parker);
}

void WakeBatch::add(Parker& parker) {
  if (size_ < few_.size()) {
    few_[size_++] = &parker;
  } else {
    more_.push_back(&parker);
  }
}

}  // namespace holdfast
