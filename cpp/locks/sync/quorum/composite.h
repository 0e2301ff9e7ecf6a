#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "locks/sync/operation/exchange.h"
#include "redis/base/mutex.h"

namespace holdfast::sync {

// An exchange made of operations on several locks, its members, which may belong to different
// clients and servers; they run side by side. It can be awaited like an operation. In wait() the
// calling thread reads for the members, one connection after the other (other replies wait in their
// sockets), and leaves late replies to the loop. After finish_to() the loop reads for all members.
// handle() of a subclass runs on one thread at a time: the waiting one, or the loop's, but for the
// beginning and a cancel(), which are the caller's: before a task ends its members are released.
class Composite : public Exchange,
                  public Completion,
                  public std::enable_shared_from_this<Composite> {
 public:
  // The subject of the exchange, which outlives it.
  class Whole {
   public:
    virtual ~Whole() = default;
    virtual std::vector<Part> parts() const = 0;
  };

  // `context`: that of any member. `members`: how many there are.
  Composite(std::shared_ptr<const Context> context, LockName name, std::size_t members, Role role);

  void cancel() final;
  const LockName& name() const final { return name_; }
  About about() final { return about_; }
  std::vector<Part> parts() const final { return whole_ ? whole_->parts() : std::vector<Part>(); }
  void set_about(const About& about, std::shared_ptr<const Whole> whole) {  // before it begins
    about_ = about;
    whole_ = std::move(whole);
  }

  void done(std::uint64_t id, Outcome outcome) final;

 protected:
  // Before its beginning: a failure ends it. And once its caller no longer waits.
  virtual Status enter() HOLDFAST_REQUIRES(mutex_) { return {}; }
  virtual void leave() HOLDFAST_REQUIRES(mutex_) {}

  struct Input {
    enum class Kind {
      kStart,
      kMember,  // `member` has ended with `outcome`
      kTime,    // the moment of wake_at() has come
      kCancel,  // the caller no longer waits; also after finish()
    };
    Kind kind = Kind::kStart;
    std::size_t member = 0;
    Outcome outcome{};
  };

  virtual void handle(const Input& input) HOLDFAST_REQUIRES(mutex_) = 0;

  // For handle(). It is begun, and kMember follows:
  void call(std::size_t member, const ExchangePtr& operation) HOLDFAST_REQUIRES(mutex_);
  // It may go on by itself; no kMember follows.
  void forget(std::size_t member) HOLDFAST_REQUIRES(mutex_);
  bool calling() const HOLDFAST_REQUIRES(mutex_) { return !calls_.empty(); }
  void wake_at(TimePoint at) HOLDFAST_REQUIRES(mutex_);
  void finish(Outcome outcome) HOLDFAST_REQUIRES(mutex_);

 private:
  struct MemberCall {
    std::uint64_t id;
    std::size_t member;
    ExchangePtr operation;
    bool served_by_loop = false;  // to the loop, which reads for it
  };
  struct Arrival {  // a member's outcome has come
    std::uint64_t id;
    Outcome outcome;
  };

  std::shared_ptr<Timed> timed() final { return shared_from_this(); }
  void start(Parker* here) final;
  void wait_in(Parker& here, TimePoint slice) final;
  void time_is_up(TimePoint now) final;
  // Handles what has arrived.
  void work() HOLDFAST_EXCLUDES(mutex_, arrivals_mutex_);
  void read(Parker& here, TimePoint slice) HOLDFAST_UNCHECKED;
  void deliver(const Input& input) HOLDFAST_REQUIRES(mutex_);
  ExchangePtr drop(std::vector<MemberCall>::iterator place) HOLDFAST_REQUIRES(mutex_);

  const LockName name_;
  About about_;
  std::shared_ptr<const Whole> whole_;

  Parker* thread_ = nullptr;  // which is in wait(); set before the beginning
  // Only that thread changes them, if there is one.
  std::vector<MemberCall> calls_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t last_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  TimePoint until_ HOLDFAST_GUARDED_BY(mutex_) = kNever;

  std::vector<Arrival> taken_ HOLDFAST_GUARDED_BY(mutex_);
  Mutex arrivals_mutex_;  // taken after mutex_
  std::vector<Arrival> arrived_ HOLDFAST_GUARDED_BY(arrivals_mutex_);
  client::ServeControl arrival_;  // done: there are some; for the thread that reads
};

}  // namespace holdfast::sync
