#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "locks/base/event.h"
#include "locks/engine/wait_hub.h"
#include "locks/sync/recipes/keys.h"
#include "redis/base/mutex.h"
#include "redis/net/pollable.h"

namespace holdfast::engine {

// Passes a client's events on, and lets its waiters for permits try at once where it has found one
// of the name lost: the server may have lost its data, and then no release wakes them. Thread-safe.
class LossSignals final : public EventSink,
                          public net::Pollable,
                          public std::enable_shared_from_this<LossSignals> {
 public:
  LossSignals(std::shared_ptr<EventSink> events, std::weak_ptr<WaitHub> hub, net::Loop& loop)
      : events_(std::move(events)), hub_(std::move(hub)), loop_(loop) {}

  // With any lock held.
  void post(Event event) override HOLDFAST_EXCLUDES(mutex_) {
    const auto hub = event.kind == Event::Kind::kLost ? hub_.lock() : nullptr;
    if (hub) {
      std::string channel = sync::keys::kSemaphoreChannel.of(LockName(event.name));
      if (hub->registry.has_waiters(channel)) {
        {
          const MutexLock lock(mutex_);
          channels_.push_back(std::move(channel));
        }
        loop_.drive(shared_from_this());
      }
    }
    events_->post(std::move(event));
  }

  net::Interest step(TimePoint /*now*/) override HOLDFAST_EXCLUDES(mutex_) {
    std::vector<std::string> channels;
    {
      const MutexLock lock(mutex_);
      channels.swap(channels_);
    }
    const auto hub = hub_.lock();
    for (const std::string& channel : channels) {
      if (hub) hub->on_message(channel, {});
    }
    net::Interest none;
    none.done = true;
    return none;
  }

 private:
  const std::shared_ptr<EventSink> events_;
  const std::weak_ptr<WaitHub> hub_;
  net::Loop& loop_;
  Mutex mutex_;
  std::vector<std::string> channels_ HOLDFAST_GUARDED_BY(mutex_);  // whose waiters are to try
};

}  // namespace holdfast::engine
