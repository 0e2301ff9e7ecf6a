#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "locks/base/types.h"
#include "locks/sync/recipes/recipe.h"
#include "redis/base/mutex.h"

namespace holdfast::sync {

// A step on a counter.
struct CounterStep {
  std::string_view word;
  Row row;                 // the owner of its Step is the request's slot
  bool completed = false;  // even if its caller no longer waits: it releases something

  // The step's effect on the permits of the client, for its figures.
  enum class Permits : std::uint8_t {
    kNone,
    kGiven,         // as many as it was called with
    kGivenIfThere,  // the same, if the answer is 1
    kTaken,         // as many as the answer says
  };
  Permits permits = Permits::kNone;
};

// A kind of counter: its recipe for waiters, and its steps, by their words.
struct CounterKind {
  std::string_view word;
  const Recipe& recipe;
  std::vector<CounterStep> steps;

  // Null: there is no such step.
  const CounterStep* find(std::string_view step) const {
    for (const CounterStep& each : steps) {
      if (each.word == step) return &each;
    }
    return nullptr;
  }
};

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
  CounterRequestPtr take() {
    CounterRequest request{};
    {
      const MutexLock lock(mutex_);
      if (!free_.empty()) {
        request = free_.back();
        free_.pop_back();
      }
    }
    if (request.slot == OwnerNumber{}) request.slot = next_owner_number();
    return {new CounterRequest(request), [slots = shared_from_this()](const CounterRequest* done) {
              const MutexLock lock(slots->mutex_);
              slots->free_.push_back({done->slot, done->number + 1});
              delete done;
            }};
  }

 private:
  Mutex mutex_;
  std::vector<CounterRequest> free_ HOLDFAST_GUARDED_BY(mutex_);  // with the next request's number
};

}  // namespace holdfast::sync
