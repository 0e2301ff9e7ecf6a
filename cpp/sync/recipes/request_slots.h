#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/types.h"

namespace holdfast::sync {

// A slot, and the number of its request. To be kept until the request cannot be sent any more: by
// its operation, and by the release that takes it back. The slot is free when the last copy of the
// pointer is gone.
struct CounterRequest {
  OwnerNumber slot;
  std::int64_t number = 1;  // grows from one request to the next
};
using CounterRequestPtr = std::shared_ptr<const CounterRequest>;

// The *slots* of one client, in which the server keeps the answers to requests. A slot serves one
// request after another. A client has as many as it has ever had requests at a time, so the number
// of their keys depends on the number of its callers, not on the rate of their requests. A slot has
// a number that no process uses twice, so a program that is started again with the same client id
// uses none of its predecessor's. Thread-safe.
class RequestSlots : public std::enable_shared_from_this<RequestSlots> {
 public:
  // The most recently used free slot, or a new one.
  CounterRequestPtr take();

 private:
  void give_back(const CounterRequest& request);

  Mutex mutex_;
  std::vector<CounterRequest> free_ HOLDFAST_GUARDED_BY(mutex_);  // with the next request's number
};

}  // namespace holdfast::sync
