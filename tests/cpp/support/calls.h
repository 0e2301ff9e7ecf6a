#pragma once

#include <memory>
#include <utility>

#include "locks/sync/operation/acquire.h"
#include "locks/sync/operation/hold_release.h"

namespace holdfast::simulation {

// The calls of synchronizers, as the engine makes them.
inline sync::SynchronizerPtr synchronizer(const sync::Recipe& recipe, const LockName& name,
                                          const sync::AcquireOptions& options = {}) {
  return std::make_shared<sync::Synchronizer>(recipe, name, options);
}

inline sync::ExchangePtr acquire_call(std::shared_ptr<const sync::Context> context,
                                      sync::AcquireRequest request) {
  return std::make_shared<sync::Acquire>(std::move(context), std::move(request));
}

inline sync::ExchangePtr release_call(std::shared_ptr<const sync::Context> context,
                                      sync::SynchronizerPtr of,
                                      const sync::HoldRelease::Order& what) {
  return std::make_shared<sync::HoldRelease>(std::move(context), std::move(of), what);
}

}  // namespace holdfast::simulation
