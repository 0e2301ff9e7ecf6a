#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/parker.h"
#include "sync/operation/context.h"
#include "sync/operation/operation.h"

namespace holdfast::engine {

// The end of a client. It is awaited like an operation, or left to the engine's thread. All waits
// end with kClosed. Pending releases are finished, and grants that still arrive are given back, for
// `timeout` at most; then the connections are closed, and within 100 ms more all attempts have
// ended. What is held then is lost later: see LeaseKeeper::close(). Thread-safe.
class Closing final : public sync::Exchange,
                      public sync::Timed,
                      public std::enable_shared_from_this<Closing> {
 public:
  struct Options {
    Millis timeout{0};
    bool release_held = false;        // releases all holds first
    std::shared_ptr<void> usage{};    // kept until the end
    std::shared_ptr<void> reports{};  // kept until what is held is lost: see LeaseKeeper::close()
  };

  // `context` may be null: the client has not connected.
  static std::shared_ptr<Closing> begin(std::shared_ptr<const sync::Context> context,
                                        Options options);

  std::optional<sync::Outcome> wait(sync::Interrupt* interrupt) override;
  using Exchange::finish_to;
  // The engine's loop does all of it, whichever thread waits.
  void finish_to(std::shared_ptr<sync::Completion> completion, std::uint64_t id,
                 Parker* reader) override;
  void serve(Parker& parker, TimePoint slice) override;
  void stop_serving(Parker& /*parker*/) override {}
  void cancel() override;  // the caller no longer waits; it goes on
  const LockName& name() const override { return name_; }

  // The names of locks that may still be held; before the end: of those that are.
  std::vector<std::string> names() const;

 private:
  enum class Stage {
    kStarting,   // start() looks for unfinished releases
    kFinishing,  // until no release or attempt is under way, or the timeout is over
    kEnding,     // the connections are being closed
    kSettling,   // attempts over them end
    kClosed,
  };

  explicit Closing(std::shared_ptr<const sync::Context> context);
  void start(Options options);
  void release_held() HOLDFAST_EXCLUDES(mutex_);
  void on_time() override;
  void end() HOLDFAST_EXCLUDES(mutex_);
  void settle() HOLDFAST_EXCLUDES(mutex_);
  bool over() const HOLDFAST_EXCLUDES(mutex_);

  const std::shared_ptr<const sync::Context> context_;
  const LockName name_{"close"};
  mutable Mutex mutex_;
  TimePoint until_{};
  Stage stage_ HOLDFAST_GUARDED_BY(mutex_) = Stage::kStarting;
  TimePoint settled_by_ HOLDFAST_GUARDED_BY(mutex_){};  // of kSettling
  bool over_ HOLDFAST_GUARDED_BY(mutex_) = false;
  Parker* waiting_ HOLDFAST_GUARDED_BY(mutex_) = nullptr;
  std::shared_ptr<sync::Completion> completion_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t id_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> names_ HOLDFAST_GUARDED_BY(mutex_);
  std::shared_ptr<void> usage_ HOLDFAST_GUARDED_BY(mutex_);
  std::shared_ptr<void> reports_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::engine
