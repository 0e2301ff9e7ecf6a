#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/types.h"

namespace holdfast::sync {

// Where the server keeps the answers to the requests of one client: in *slots*, each the place of
// one request after another. A client has as many as it has ever had requests at a time, so the
// keys that they leave behind are bounded by its callers, not by the rate of their requests. A slot
// has a number that no process uses twice, so a program that is started again with the same client
// id meets none of its predecessor's. Thread-safe.
class RequestSlots : public std::enable_shared_from_this<RequestSlots> {
 public:
  // A slot, and which request it is for. To be kept until the request cannot be sent any more: by
  // its operation, and by the release that takes it back. The slot is free when the last copy of
  // the pointer is gone.
  struct Request {
    OwnerNumber slot;
    std::int64_t number = 1;  // grows from one request to the next
  };
  using RequestPtr = std::shared_ptr<const Request>;

  // The slot that was used last of those that are free, or a new one.
  RequestPtr take();

 private:
  void give_back(const Request& request);

  Mutex mutex_;
  std::vector<Request> free_ HOLDFAST_GUARDED_BY(mutex_);  // with the next request's number
};

}  // namespace holdfast::sync
