#pragma once

#include <cstdint>
#include <utility>

#include "base/process.h"
#include "sync/operation/exchange.h"

namespace holdfast::bindings {

// What an acquisition grants, while the call that it is a part of goes on: exists before the
// acquisition is sent, and gives the grant back, without a wait, at the end of its context, or with
// its last reference. pass_on(): the context ends well, and the call that made it keeps the grant;
// keep(): the last thing that such a call does. So a caller that is interrupted or cancelled
// between any two of its exchanges, or whose later exchange fails, leaves nothing behind. In a
// child of fork() it gives back nothing. With the GIL held. By Python a context, whose end no
// signal handler precedes.
class Keeping {
 public:
  explicit Keeping(sync::ExchangePtr acquire) : acquire_(std::move(acquire)) {}
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;
  ~Keeping() { give_back_quietly(); }

  const sync::ExchangePtr& acquire() const { return acquire_; }
  void pass_on() { passed_on_ = true; }
  void keep() { kept_ = true; }
  bool kept() const { return kept_; }
  // At the end of the context.
  void leave() {
    if (!passed_on_) give_back();
  }
  void give_back() {
    if (!kept_) undo();
  }
  // Also of what was kept, where its caller has not got it. A second call has no effect.
  void undo() {
    kept_ = false;
    if (std::exchange(over_, true) || epoch_ != fork_epoch()) return;
    acquire_->cancel();
  }

 private:
  // No memory is left for the release: the grant ends with its lease.
  void give_back_quietly() noexcept {
    try {
      give_back();
    } catch (...) {
      return;
    }
  }

  const sync::ExchangePtr acquire_;
  const std::uint64_t epoch_ = fork_epoch();
  bool passed_on_ = false;
  bool kept_ = false;
  bool over_ = false;
};

}  // namespace holdfast::bindings
