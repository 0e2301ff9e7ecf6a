#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/parker.h"
#include "client/connection.h"
#include "resp/error_reply.h"
#include "sync/operation/acquire_machine.h"
#include "sync/operation/context.h"

namespace holdfast::sync {

// How an operation ended: for an acquisition the verdict says how; for a call kGranted means that
// it was done, with the server's answer in `value` (nothing: nil).
struct Outcome {
  Verdict verdict = Verdict::kGranted;
  Status why{};
  std::optional<std::int64_t> value{};
};

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

// One exchange of a caller with its servers, however many commands it takes. There are two ways to
// wait for it: wait() blocks the calling thread, which does the I/O itself; finish_to() reports to
// a Completion. Exactly one of them is called, after which the exchange has begun.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Blocks until the outcome. Nothing when `interrupt` (may be null: never) stopped it: then it has
  // been cancelled.
  virtual std::optional<Outcome> wait(Interrupt* interrupt) = 0;

  void finish_to(std::shared_ptr<Completion> completion, std::uint64_t id) {
    finish_to(std::move(completion), id, nullptr);
  }
  // The same, where a thread waits for several exchanges at once and reads for each in serve(),
  // until stop_serving(). `reader` is its Parker, null where the loop reads.
  virtual void finish_to(std::shared_ptr<Completion> completion, std::uint64_t id,
                         Parker* reader) = 0;
  // That thread: reads until the exchange is over, or `slice` is.
  virtual void serve(Parker& parker, TimePoint slice) = 0;
  // That thread leaves, whether the exchange is over or not.
  virtual void stop_serving(Parker& parker) = 0;

  // Any thread (after wait(): the one that waited): the caller no longer waits. A pending grant is
  // released; so is a grant that has arrived, which the caller will never see.
  virtual void cancel() = 0;

  virtual const LockName& name() const = 0;
  // Of the client whose exchange it is; empty: of none.
  virtual std::string_view client_id() const { return {}; }

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
    std::string title;  // of a member of a lock made of several, as messages have it; else empty
  };
  virtual std::vector<Part> parts() const {
    return {{std::string(client_id()), std::string(name().bytes()), {}}};
  }
};
using ExchangePtr = std::shared_ptr<Exchange>;

// An exchange about one name, with the server that answers for it.
class Operation : public Exchange,
                  public client::Request,
                  public Timed,
                  public std::enable_shared_from_this<Operation> {
 public:
  Operation(std::shared_ptr<const Context> context, LockName name);

  using Exchange::finish_to;
  std::optional<Outcome> wait(Interrupt* interrupt) final;
  void finish_to(std::shared_ptr<Completion> completion, std::uint64_t id, Parker* reader) final;
  void serve(Parker& parker, TimePoint slice) final {
    connection_->serve(parker, serve_control_, slice);
  }
  void stop_serving(Parker& parker) final;
  const LockName& name() const final { return name_; }
  std::string_view client_id() const final { return context_->client_id; }
  std::string_view key() const final { return name_.bytes(); }

 protected:
  // Before any other thread knows of it. True: its first command, with its deadline, is to be sent
  // by send_first(), for the thread in wait() (null: there is none). False: it is not in line.
  virtual bool begin(TimePoint now) HOLDFAST_EXCLUDES(mutex_) = 0;
  virtual bool send_first(Parker* here) HOLDFAST_EXCLUDES(mutex_);
  bool submit_first(Parker* here) HOLDFAST_EXCLUDES(mutex_);
  // That thread has the reply, which is no error, and no other thread knows of the operation.
  virtual void answered_here(resp::Reply reply, const client::Sent& sent) {
    complete(std::move(reply), sent);
  }
  virtual void time_is_up(TimePoint now) = 0;  // the moment of wake_at() has come
  // Asks it on the thread in wait(). It may run a signal handler, while another thread reads the
  // reply and ends the operation.
  virtual bool stopped_by(Interrupt& interrupt) { return interrupt.pending(); }
  // By which its commands are to be answered, where the command time-out ends later.
  virtual TimePoint latest() const { return kNever; }

  // For subclasses, with mutex_ held.
  Status submit() HOLDFAST_REQUIRES(mutex_);  // this request, with a fresh deadline
  Status submit(TimePoint by) HOLDFAST_REQUIRES(mutex_);
  // Until the next submit(), or the end, messages of `channel` concern it. `excludes`: as of
  // Subscriber::Listener. `channel` outlives it.
  void listen(const std::string& channel, bool excludes) HOLDFAST_REQUIRES(mutex_);
  void wake_at(TimePoint at) HOLDFAST_REQUIRES(mutex_);
  void finish(Outcome outcome) HOLDFAST_REQUIRES(mutex_);
  // After finish(): the operation goes on without its caller, and its own finish() only ends it.
  void let_caller_go() HOLDFAST_REQUIRES(mutex_) { parker_ = reader_ = nullptr; }
  bool by_thread() const HOLDFAST_REQUIRES(mutex_) { return parker_ != nullptr; }
  bool finished() const HOLDFAST_REQUIRES(mutex_) { return outcome_.has_value(); }
  const std::optional<Outcome>& outcome() const HOLDFAST_REQUIRES(mutex_) { return outcome_; }

  const Context& context() const { return *context_; }
  const std::shared_ptr<const Context>& shared_context() const { return context_; }
  client::Connection& connection() const { return *connection_; }
  TimePoint now() const { return context_->clock.now(); }
  std::string field(OwnerNumber owner) const { return owner_field(context_->client_id, owner); }

  Mutex mutex_;

 private:
  void on_time() final;
  void wait_by(Parker& parker) HOLDFAST_UNCHECKED { parker_ = &parker; }
  void report_to(std::shared_ptr<Completion> completion, std::uint64_t id,
                 Parker* reader) HOLDFAST_UNCHECKED;
  Parker* first_reader() const HOLDFAST_UNCHECKED { return reader_; }
  // It was written before `serve_control_.done`, and is not written again.
  std::optional<Outcome> final_outcome() const HOLDFAST_UNCHECKED { return outcome_; }
  static void wake(Parker* parker);
  Parker* reader() HOLDFAST_REQUIRES(mutex_);
  std::optional<Outcome> await(Interrupt* interrupt);
  void wait_in(Parker& parker, TimePoint slice);
  void give_up();
  void leave();
  void cancel_quietly() noexcept;

  const std::shared_ptr<const Context> context_;
  const LockName name_;
  const std::shared_ptr<client::Connection> connection_;
  client::ServeControl serve_control_;
  struct Listening {
    std::shared_ptr<client::Subscriber> to;
    const std::string* channel = nullptr;
    bool excludes = false;
  };
  Listening listening_ HOLDFAST_GUARDED_BY(mutex_);  // of the thread in wait()
  bool timed_ HOLDFAST_GUARDED_BY(mutex_) = false;   // the loop has its timer
  Parker* parker_ HOLDFAST_GUARDED_BY(mutex_) =
      nullptr;  // of the thread in wait(); it leaves only after finish()
  Parker* reader_ HOLDFAST_GUARDED_BY(mutex_) =
      nullptr;  // of the thread that reads for this operation among others
  std::shared_ptr<Completion> completion_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t id_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::optional<Outcome> outcome_ HOLDFAST_GUARDED_BY(mutex_);
};
using OperationPtr = std::shared_ptr<Operation>;

using resp::error_word;
using resp::is_temporary;

// The error as the caller gets it, naming the key and what to do.
Status error_status(std::string_view text, const LockName& name, const std::string& server);

// A call for a lock that its owner is acquiring; `by_thread`: the owner, else a task.
Status under_way_status(const LockName& name, bool by_thread);

// Between two looks whether an earlier renewal of the owner's, which holds up a command, has been
// answered.
inline constexpr Millis kHeldUp{2};

// The client of this name is closed, or being closed.
Status closed_status(const LockName& name);

// A failure to reach the server, naming the key.
Status unreachable_status(const Status& why, const LockName& name);

}  // namespace holdfast::sync
