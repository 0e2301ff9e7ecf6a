#pragma once

#include <atomic>
#include <utility>

#include "base/status.h"
#include "net/descriptor.h"
#include "net/endpoint.h"

namespace holdfast::net {

// The part of a ValueRequest that does not depend on the value.
class RequestSignal {
 public:
  // Signalled from the start.
  struct Answered {};
  explicit RequestSignal(Answered /*at_once*/) : done_(true) {}
  // With a descriptor, which a process may have run out of.
  RequestSignal();
  RequestSignal(const RequestSignal&) = delete;
  RequestSignal& operator=(const RequestSignal&) = delete;

  // A descriptor that becomes readable when done() comes true; -1 where that was so from the start.
  int fd() const { return ready_.get(); }
  bool done() const { return done_; }

 protected:
  ~RequestSignal() = default;
  // OK: there is a descriptor.
  Status obstacle() const;
  void signal();

 private:
  std::atomic<bool> done_{false};
  Descriptor ready_;
  int error_ = 0;
};

// A value for one attempt to connect, which another thread supplies. The requester waits on fd() as
// on a socket; if it leaves, the answer is dropped.
template <typename Value>
class ValueRequest : public RequestSignal {
 public:
  // done() from the start, with a failure, where there are no descriptors.
  ValueRequest() {
    Status failed = obstacle();
    if (!failed.ok()) answer(std::move(failed));
  }
  // done() from the start, with this value.
  explicit ValueRequest(Value value)
      : RequestSignal(Answered{}), outcome_(Result<Value>(std::move(value))) {}

  // Once done(): the value, or the failure.
  Result<Value> take() { return std::move(outcome_); }

  // At most once, from any thread, unless done().
  void answer(Result<Value> outcome) {
    outcome_ = std::move(outcome);
    signal();
  }

 private:
  Result<Value> outcome_{Value{}};
};

}  // namespace holdfast::net
