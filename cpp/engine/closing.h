#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/parker.h"
#include "sync/context.h"
#include "sync/operation.h"

namespace holdfast::engine {

// The end of a client. It is awaited like an operation, or left to the engine's thread. All waits
// end with kClosed. Pending releases are finished, and grants that still arrive are given back, for
// `patience` at most; then the connections are closed. Thread-safe.
class Closing final : public sync::Exchange,
                      public sync::Timed,
                      public std::enable_shared_from_this<Closing> {
 public:
  struct Options {
    Millis patience{0};
    bool release_held = false;  // what is held is released first
  };

  // `context` may be null: there is nothing to close.
  static std::shared_ptr<Closing> begin(std::shared_ptr<const sync::Context> context,
                                        const Options& options);

  std::optional<sync::Outcome> wait(sync::Interrupt* interrupt) override;
  void finish_to(std::shared_ptr<sync::Completion> completion, std::uint64_t id) override;
  void cancel() override;  // the caller no longer waits; it goes on
  const LockName& name() const override { return name_; }

  // The names of what may still be held; before the end: of what is.
  std::vector<std::string> names() const;

 private:
  using Guard = std::lock_guard<std::mutex>;

  explicit Closing(std::shared_ptr<const sync::Context> context);
  void start(const Options& options);
  void release_held();
  void on_time() override;
  void end();
  bool over() const;

  const std::shared_ptr<const sync::Context> context_;
  const LockName name_{"close"};
  mutable std::mutex mutex_;
  TimePoint until_{};
  bool ending_ = false;
  bool over_ = false;
  Parker* waiting_ = nullptr;
  std::shared_ptr<sync::Completion> completion_;
  std::uint64_t id_ = 0;
  std::vector<std::string> names_;
};

}  // namespace holdfast::engine
