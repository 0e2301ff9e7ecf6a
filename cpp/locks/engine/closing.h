#pragma once

#include <memory>
#include <string>
#include <vector>

#include "locks/sync/operation/exchange.h"
#include "redis/base/mutex.h"

namespace holdfast::engine {

// The end of a client. It begins at once, and is awaited like an operation, or left to the engine's
// loop, which does all of it. All waits end with kClosed. Pending releases are finished, and grants
// that still arrive, or that a call has not kept yet (sync::Keepings), are given back, for
// `timeout` at most; then the connections are closed, and within 100 ms more all attempts have
// ended. What is held then is lost later: see Keeper::close(). Thread-safe.
class Closing final : public sync::Exchange, public std::enable_shared_from_this<Closing> {
 public:
  struct Options {
    Millis timeout{0};
    bool release_held = false;        // releases all holds first
    std::shared_ptr<void> usage{};    // kept until the end
    std::shared_ptr<void> reports{};  // kept until what is held is lost: see Keeper::close()
  };

  static std::shared_ptr<Closing> begin(std::shared_ptr<const sync::Context> context,
                                        Options options);
  // For a client that another call closes, or has closed: there is nothing to wait for.
  static std::shared_ptr<Closing> nothing(std::shared_ptr<const sync::Context> context);

  void cancel() override {}  // the caller no longer waits; it goes on
  const LockName& name() const override { return name_; }

  // The names of locks that may still be held; before the end: of those that are.
  std::vector<std::string> names() HOLDFAST_EXCLUDES(mutex_);

 private:
  enum class Stage {
    kStarting,   // begin() looks for unfinished releases
    kFinishing,  // until no release or attempt is under way, or the timeout is over
    kEnding,     // one thread closes the connections; the second time, the records
    kSettling,   // between the two: until the attempts over the connections have ended
    kOver,
  };

  Closing(std::shared_ptr<const sync::Context> context, Options options);
  std::shared_ptr<Timed> timed() override { return shared_from_this(); }
  void start(Parker* here) override;
  void time_is_up(TimePoint now) override;
  void begin() HOLDFAST_EXCLUDES(mutex_);
  void release_held(bool internal) HOLDFAST_EXCLUDES(mutex_);  // the client's key, or the others
  bool move_on(Stage from, Stage to) HOLDFAST_EXCLUDES(mutex_);
  void end() HOLDFAST_EXCLUDES(mutex_);
  void settle() HOLDFAST_EXCLUDES(mutex_);

  const LockName name_{"close"};
  Options options_;
  TimePoint settled_by_{};  // the end of kSettling
  TimePoint until_ HOLDFAST_GUARDED_BY(mutex_) = kNever;
  Stage stage_ HOLDFAST_GUARDED_BY(mutex_) = Stage::kStarting;
  bool awaited_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::vector<std::string> names_ HOLDFAST_GUARDED_BY(mutex_);  // the names that kOver reports
};

}  // namespace holdfast::engine
