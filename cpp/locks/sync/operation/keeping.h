#pragma once

#include <cstdint>
#include <utility>

#include "locks/sync/operation/exchange.h"
#include "redis/base/mutex.h"
#include "redis/base/process.h"

namespace holdfast::sync {

class Keeping;

// The Keepings of a client that are open. Thread-safe.
class Keepings {
 public:
  // The client is being closed: gives back what they have been granted, but for what is in use.
  // A later grant is given back when it comes: see lease::Keeper::begin_close().
  void close() HOLDFAST_EXCLUDES(mutex_);

 private:
  friend class Keeping;

  Mutex mutex_;
  Keeping* first_ HOLDFAST_GUARDED_BY(mutex_) = nullptr;
};

// The grant of an acquisition, while the call that it is a part of goes on: exists before the
// acquisition is sent, and gives the grant back, without a wait, at the end of its context, with
// its last reference, or when the client is closed. pass_on(): the context ends well, and the call
// that made it keeps the grant; keep(): the last thing that such a call does. So a caller that is
// interrupted or cancelled between any two of its exchanges, or whose later exchange fails, leaves
// nothing behind. use(true): until use(false) a program works under the grant, and close() leaves
// it to its lease, as it does a hold. In a child of fork() it gives back nothing. One thread at a
// time uses it, but for Keepings::close().
class Keeping {
 public:
  explicit Keeping(ExchangePtr its_acquire);
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;
  ~Keeping() {
    try {
      give_back();
    } catch (...) {
      return;  // no memory is left for the release: the grant ends with its lease
    }
  }

  const ExchangePtr acquire;

  void pass_on() { passed_on_ = true; }
  // False: the client is being closed, and the grant was given back.
  bool keep();
  // The grant is used, by a step of the call, until its end. False at a beginning: closed() by
  // then.
  bool use(bool begins);
  bool kept() const { return kept_; }
  bool closed() const;
  // At the end of the context.
  void leave() {
    if (!passed_on_) give_back();
  }
  void give_back() {
    if (!kept_) undo();
  }
  // Also of what was kept, where its caller has not got it. A second call has no effect.
  void undo();

 private:
  friend class Keepings;

  bool inherited() const { return epoch_ != fork_epoch(); }
  void unlink();

  Keepings& all_;
  const std::uint64_t epoch_ = fork_epoch();
  bool passed_on_ = false;
  bool kept_ = false;
  bool over_ = false;
  // With the lock of all:
  bool in_use_ = false;
  bool closed_ = false;  // close() has given it back
  Keeping* next_ = nullptr;
  Keeping** here_ = nullptr;  // what points to this one; null: it is not open any more
};

}  // namespace holdfast::sync
