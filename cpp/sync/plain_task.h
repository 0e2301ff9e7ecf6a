#pragma once

#include <cstdint>
#include <memory>

#include "base/sync_points.h"
#include "sync/operation.h"
#include "sync/plain_commands.h"

namespace holdfast::sync {

// The plain path of a lock, for tasks: as PlainLock's for threads, but its exchanges report to a
// Completion. An attempt that is granted at once and the last release of a hold are one request
// each, which takes the same steps with the keeper and the figures as an operation does. What is
// not plain when it begins is done by an operation from the start; a reply that is not the expected
// one, and a cancellation, go to an operation as its first event.
//
// Thread-safe. For a kind whose grant is nil and whose release replies an integer: lock_recipe().
// Its exchanges keep it.
class PlainTaskLock final : public std::enable_shared_from_this<PlainTaskLock> {
 public:
  PlainTaskLock(const LockRecipe& recipe, LockName name, const AcquireOptions& options);
  ~PlainTaskLock();
  PlainTaskLock(const PlainTaskLock&) = delete;
  PlainTaskLock& operator=(const PlainTaskLock&) = delete;

  using ContextPtr = std::shared_ptr<const Context>;
  struct Ask {
    OwnerNumber owner;
    Lease lease;
    std::uint64_t listener = 0;
    bool blocking = true;
    Duration timeout = kNever - TimePoint{};
  };
  // To be awaited by finish_to(). Null: it does not look plain.
  ExchangePtr acquire(ContextPtr context, const Ask& ask) const;
  ExchangePtr release(ContextPtr context, OwnerNumber owner) const;

 private:
  class Task;
  class Attempt;
  class Release;

  const PlainCommands* commands(const Context& with, Millis lease) const;

  const LockRecipe& recipe_;
  const LockName name_;
  const AcquireOptions options_;
  const std::string channel_;
  mutable SharedAtomic<const PlainCommands*> commands_{nullptr};  // made by the first attempt
};

}  // namespace holdfast::sync
