#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "locks/sync/operation/acquire_machine.h"
#include "locks/sync/operation/context.h"
#include "redis/base/mutex.h"
#include "redis/base/process.h"
#include "redis/client.h"

namespace holdfast::sync {

// The number that a reply is, or its text says; nothing: nil.
std::optional<std::int64_t> number_of(const resp::Reply& reply);

// Gets it before the caller does, and may correct it; on any thread.
using Answered = std::function<void(std::optional<std::int64_t>& value, const client::Sent& sent)>;

// Awaits an operation without a thread. Called once, on any thread, with locks of the operation
// held: it only stores the outcome.
class Completion {
 public:
  virtual ~Completion() = default;
  virtual void done(std::uint64_t id, Outcome outcome) = 0;
};

// How often: Ctrl-C must end a wait within 0.1 s.
inline constexpr Millis kInterruptSlice{50};
// Asked now and then by a thread that waits, without locks held: true when it is to stop (Ctrl-C).
class Interrupt {
 public:
  virtual ~Interrupt() = default;
  virtual bool pending() = 0;
};

// The caller that waits for an exchange: a thread in wait(), a completion, or no caller (any more).
struct Caller {
  Parker* thread = nullptr;  // which leaves only after finish()
  Parker* reader = nullptr;  // the thread that reads for this exchange among others
  std::shared_ptr<Completion> completion{};
  std::uint64_t id = 0;
  bool interrupted = false;  // that thread may run a signal handler, which may wait, too

  bool by_thread() const { return thread != nullptr; }
  bool by_this_thread() const { return thread == &Parker::of_this_thread() && !interrupted; }
};

// One exchange of a caller with its servers, however many commands it takes. There are two ways to
// wait for it: wait() blocks the calling thread, which does the I/O itself; finish_to() reports to
// a Completion. Exactly one of them is called, after which the exchange has begun.
class Exchange : public Timed {
 public:
  // The purpose of its caller, which says what the outcome means to it.
  enum class Role : std::uint8_t { kCall, kAcquire, kRelease };

  explicit Exchange(std::shared_ptr<const Context> context, Role role = Role::kCall)
      : context_(std::move(context)), role_(role) {}

  // Blocks until the outcome. Nothing when `interrupt` (may be null: never) stopped it: then it has
  // been cancelled.
  std::optional<Outcome> wait(Interrupt* interrupt) HOLDFAST_UNCHECKED;

  // `reader`: of a thread that waits for several exchanges at once and reads for each in serve(),
  // until stop_serving(); null where the loop reads.
  void finish_to(std::shared_ptr<Completion> completion, std::uint64_t id,
                 Parker* reader = nullptr) HOLDFAST_UNCHECKED;
  // That thread: reads until `until` is over, or `slice` is. By default the loop reads for it.
  virtual void serve(Parker& parker, const client::ServeControl& /*until*/, TimePoint slice) {
    parker.park(context_->clock, slice);
  }
  // The connection that it reads, which others may read, too; null: none.
  virtual const client::Connection* reads() const { return nullptr; }
  // That thread leaves, whether the exchange is over or not.
  void stop_serving(Parker& parker);

  // Any thread (after wait(): the one that waited): the caller no longer waits. A pending grant is
  // released; so is a grant that has arrived, which the caller will never see.
  virtual void cancel() = 0;
  // Cancels for an object that ends by itself: in a child of fork() it may be one of the parent,
  // which keeps its grant, and has the locks of this exchange.
  void end() {
    if (!inherited()) cancel();
  }
  bool over() HOLDFAST_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return finished();
  }
  // That of the client whose exchange it is.
  const Context& context() const { return *context_; }
  // Its caller may look for the reply before it sleeps: counted here. Null: it may not.
  Stats* busy_polls() const { return context_->busy_poll ? context_->stats.get() : nullptr; }
  // In a child of fork(): it is the parent's.
  bool inherited() const { return context_->epoch != fork_epoch(); }

  Role role() const { return role_; }
  virtual const LockName& name() const = 0;
  // After the end with kGranted, of a call whose caller gets its replies as they are: these.
  // `one`: there is one, else a list. Null: the outcome is all.
  struct Replies {
    std::vector<std::optional<resp::Reply>> all;
    bool one = false;
    std::vector<bool> scored{};  // which of `all` are members with scores, in RESP3 as pairs
  };
  virtual const Replies* replies() const { return nullptr; }

  // For observers, before its beginning and after its end: of an acquisition and a release of a
  // lock, which kind of lock, and whose.
  struct About {
    std::string_view kind{};  // empty: nothing to observe
    OwnerNumber owner{};
    bool last = false;  // a release after which the owner holds nothing
  };
  virtual About about() { return {}; }

  // A lock that it is about.
  struct Part {
    std::string client_id;
    std::string name;
    std::string title;  // for a member of a lock made of several, as messages have it; else empty
  };
  virtual std::vector<Part> parts() const {
    return {{context_->client_id, std::string(name().bytes()), {}}};
  }

 protected:
  virtual std::shared_ptr<Timed> timed() = 0;  // this
  // Before any other thread knows of it. `here`: the thread in wait(); null: there is none.
  virtual void start(Parker* here) HOLDFAST_EXCLUDES(mutex_) = 0;
  // That thread waits, and reads what it can, until control() is over, or `slice` is.
  virtual void wait_in(Parker& here, TimePoint slice) HOLDFAST_EXCLUDES(mutex_) {
    serve(here, control_, slice);
  }
  // That thread has left: what it would have read is for others to read.
  virtual void left(Parker& /*here*/) HOLDFAST_EXCLUDES(mutex_) {}
  virtual void time_is_up(TimePoint now) HOLDFAST_EXCLUDES(mutex_) = 0;  // wake_at() has come
  // Asks it on the thread in wait(). It may run a signal handler, while another thread reads the
  // reply and ends the exchange.
  virtual bool stopped_by(Interrupt& interrupt) { return interrupt.pending(); }

  // For subclasses, with mutex_ held.
  void wake_at(TimePoint at) HOLDFAST_REQUIRES(mutex_);
  void finish(Outcome outcome) HOLDFAST_REQUIRES(mutex_);
  bool finished() const HOLDFAST_REQUIRES(mutex_) { return outcome_.has_value(); }
  const std::optional<Outcome>& outcome() const HOLDFAST_REQUIRES(mutex_) { return outcome_; }
  static void wake(Parker* parker);

  client::ServeControl& control() { return control_; }  // that thread's, or the reader's
  const std::shared_ptr<const Context>& shared_context() const { return context_; }
  TimePoint now() const { return context_->clock.now(); }

  Mutex mutex_;
  // After finish() the exchange may go on without a caller: a later finish() only ends it.
  Caller caller_ HOLDFAST_GUARDED_BY(mutex_);

 private:
  void on_time() final { time_is_up(now()); }
  void give_up();
  void give_up_quietly() noexcept;

  const std::shared_ptr<const Context> context_;
  const Role role_;
  client::ServeControl control_;
  bool timed_ HOLDFAST_GUARDED_BY(mutex_) = false;  // the loop has its timer
  std::optional<Outcome> outcome_ HOLDFAST_GUARDED_BY(mutex_);
};
using ExchangePtr = std::shared_ptr<Exchange>;

}  // namespace holdfast::sync
