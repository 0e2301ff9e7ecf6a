#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "locks/sync/operation/operation.h"
#include "redis/base/mutex.h"
#include "redis/base/process.h"
#include "redis/client.h"

namespace holdfast::engine {

// The finished operations of one event loop of Python, handed over in batches: fd() becomes
// readable with the first, and stays so until drain(). If the loop reads a reply itself, drain()
// finishes the operation, without the lock.
class CompletionQueue final : public sync::Completion,
                              public std::enable_shared_from_this<CompletionQueue> {
 public:
  using Done = std::pair<std::uint64_t, sync::Outcome>;

  CompletionQueue();  // throws LimitReached where the system gives no descriptors
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  int fd() const { return loop_->fd(); }
  client::EventLoopReader& loop() { return *loop_; }

  void done(std::uint64_t id, sync::Outcome outcome) override;

  // On the loop's thread, in a Scope of loop(), with an id that is not 0: begins an exchange.
  // Returns its outcome if it ends at once; otherwise drain() returns it.
  std::optional<sync::Outcome> begin(sync::Exchange& exchange, std::uint64_t id) {
    at_once_.reset();  // left by an exchange that threw, and was cancelled for that
    beginning_ = id;
    exchange.finish_to(shared_from_this(), id);
    beginning_ = 0;
    return std::exchange(at_once_, std::nullopt);
  }
  // As begin(), on the loop's thread in a Scope: reads, and puts what is done into `done`, which is
  // empty.
  void drain(std::vector<Done>& done);

 private:
  const std::shared_ptr<client::EventLoopReader> loop_;
  const Descriptor wake_;  // made by make_wake_up()
  // The loop's thread only.
  std::uint64_t beginning_ = 0;  // inside begin()
  std::optional<sync::Outcome> at_once_;
  std::vector<Done> read_;  // inside drain()

  Mutex mutex_;
  std::vector<Done> done_ HOLDFAST_GUARDED_BY(mutex_);
  SharedAtomic<bool> woken_{false};  // done_ is not empty
};

}  // namespace holdfast::engine
