#include "sync/recipes/request_slots.h"

#include <utility>

namespace holdfast::sync {

CounterRequestPtr RequestSlots::take() {
  CounterRequest request{};
  {
    const MutexLock lock(mutex_);
    if (!free_.empty()) {
      request = free_.back();
      free_.pop_back();
    }
  }
  if (request.slot == OwnerNumber{}) request.slot = next_owner_number();
  const auto give_back = [slots = shared_from_this()](const CounterRequest* done) {
    slots->give_back(*done);
    delete done;
  };
  return {new CounterRequest(request), give_back};
}

void RequestSlots::give_back(const CounterRequest& request) {
  const MutexLock lock(mutex_);
  free_.push_back({request.slot, request.number + 1});
}

}  // namespace holdfast::sync
