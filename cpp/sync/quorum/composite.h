#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/parker.h"
#include "sync/operation/operation.h"

namespace holdfast::sync {

// An exchange made of operations on several locks, its members, which may belong to different
// clients and servers; they run side by side. It can be awaited like an operation. In wait() the
// calling thread reads for the members, one connection after the other (other replies wait in their
// sockets), and leaves late replies to the loop. After finish_to() the loop reads for all members.
// handle() of a subclass runs on one thread at a time: the waiting one, or the loop's, but for the
// beginning and a cancel(), which are the caller's: before a task ends its members are released.
class Composite : public Exchange,
                  public Completion,
                  public Timed,
                  public std::enable_shared_from_this<Composite> {
 public:
  // `context`: that of any member. `members`: how many there are.
  Composite(std::shared_ptr<const Context> context, LockName name, std::size_t members);

  using Exchange::finish_to;
  std::optional<Outcome> wait(Interrupt* interrupt) final;
  // The loop reads for it, whichever thread waits for it beside others.
  void finish_to(std::shared_ptr<Completion> completion, std::uint64_t id, Parker* reader) final;
  void serve(Parker& parker, TimePoint slice) final { parker.park(context_->clock, slice); }
  void stop_serving(Parker& /*parker*/) final {}
  void cancel() final;
  const LockName& name() const final { return name_; }
  std::string_view client_id() const final { return context_->client_id; }
  About about() final { return about_; }
  std::vector<Part> parts() const final { return parts_; }
  void set_about(const About& about, std::vector<Part> members) {  // before it begins
    about_ = about;
    parts_ = std::move(members);
  }

  void done(std::uint64_t id, Outcome outcome) final;

 protected:
  // Before its beginning: a failure ends it. And once its caller no longer waits.
  virtual Status enter(bool /*by_thread*/) { return {}; }
  virtual void leave() {}

  struct Event {
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

  virtual void handle(const Event& event) = 0;

  // For handle().
  void call(std::size_t member, const ExchangePtr& operation);  // begins it; kMember follows
  void forget(std::size_t member);  // it may go on by itself; no kMember follows
  bool has_call(std::size_t member) const;
  bool calling() const { return !calls_.empty(); }
  void wake_at(TimePoint at) { until_ = at; }
  void finish(Outcome outcome);
  bool finished() const { return outcome_.has_value(); }
  TimePoint now() const { return context_->clock.now(); }

 private:
  struct MemberCall {
    std::uint64_t id;
    std::size_t member;
    ExchangePtr operation;
    bool served_by_loop = false;  // to the loop, which reads for it
  };
  struct Arrival {  // of a member's outcome
    std::uint64_t id;
    Outcome outcome;
  };

  void on_time() final;
  std::optional<Outcome> wait_here(Interrupt* interrupt);
  void start(bool by_thread) HOLDFAST_EXCLUDES(turn_);
  void cancel_quietly() noexcept;
  void post(Arrival arrival) HOLDFAST_EXCLUDES(mutex_);
  std::optional<Arrival> next() HOLDFAST_EXCLUDES(mutex_);
  void work() HOLDFAST_EXCLUDES(turn_);
  void read(TimePoint slice) HOLDFAST_EXCLUDES(mutex_);
  void set_waiter(Parker* parker) HOLDFAST_EXCLUDES(mutex_);
  void look_at_clock() HOLDFAST_EXCLUDES(turn_);
  void deliver(const Event& event);
  void take(Arrival arrival);
  ExchangePtr drop(std::vector<MemberCall>::iterator place);

  const std::shared_ptr<const Context> context_;
  const LockName name_;
  About about_;
  std::vector<Part> parts_;

  Parker* parker_ = nullptr;  // of the thread that is in wait(); set before the beginning
  // Held while handle() runs. With parker_, only its thread uses what follows.
  Mutex turn_;
  std::vector<MemberCall> calls_;
  std::uint64_t last_ = 0;
  TimePoint until_ = kNever;
  std::optional<Outcome> outcome_;
  std::shared_ptr<Completion> completion_;
  std::uint64_t id_ = 0;

  Mutex mutex_;  // taken after turn_; held while the timer is set
  Parker* waiter_ HOLDFAST_GUARDED_BY(mutex_) = nullptr;  // of the thread that is in wait() now
  std::deque<Arrival> arrived_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::sync
