#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "locks/sync/operation/callers_time.h"
#include "locks/sync/operation/exchange.h"
#include "redis/base/mutex.h"
#include "redis/client.h"
#include "redis/resp/reply.h"

namespace holdfast::sync {

// An exchange about one name, with the server that answers for it.
class Operation : public Exchange,
                  public client::Request,
                  public std::enable_shared_from_this<Operation> {
 public:
  Operation(std::shared_ptr<const Context> context, LockName name, Role role = Role::kCall);

  void serve(Parker& parker, const client::ServeControl& until, TimePoint slice) final {
    connection_->serve(parker, until, slice);
  }
  const client::Connection* reads() const final { return connection_.get(); }
  const LockName& name() const final { return name_; }
  std::string_view key() const final { return name_.bytes(); }
  resp::ReplyKinds encode(std::string& out, bool by_text) const override;

 protected:
  // Its command, unless encode() is overridden.
  virtual void write(script::Writer& /*out*/) const {}
  // Before any other thread knows of it. True: its first command, with its deadline, is to be sent.
  // False: it is not in line.
  virtual bool begin(TimePoint now) HOLDFAST_EXCLUDES(mutex_) = 0;
  // Sends the first command of a deferred request, for the thread in wait() (null: there is none).
  // Whether it is in line.
  virtual bool post_first(Parker* here) { return submit_first(here); }
  bool submit_first(Parker* here) HOLDFAST_EXCLUDES(mutex_);
  // That thread has the reply, which is no error, and no other thread knows of the operation.
  virtual void answered_here(resp::Reply&& reply, const client::Sent& sent) {
    complete(std::move(reply), sent);
  }
  // By which its commands are to be answered, where the command time-out ends later.
  virtual TimePoint latest() const { return kNever; }

  // For subclasses, with mutex_ held.
  Status submit() HOLDFAST_REQUIRES(mutex_);  // this request, with a fresh deadline
  Status submit(TimePoint by) HOLDFAST_REQUIRES(mutex_);
  // Sends; by the thread in wait() itself, once it has no locks, where that is the calling one. A
  // thread that ends the operation before that has it not sent.
  Status send_soon() HOLDFAST_REQUIRES(mutex_);
  // A command of the client's own, beside those of the operation, in whose order it stays. Null:
  // there is none.
  void send_beside(client::RequestPtr request) const;
  // Until the next submit(), or the end, messages of `channel` concern it. `excludes`: as of
  // Subscriber::Listener. `channel` outlives it.
  void listen(const std::string& channel, bool excludes) HOLDFAST_REQUIRES(mutex_);

  client::Connection& connection() const { return *connection_; }
  std::string field(OwnerNumber owner) const { return owner_field(context().client_id, owner); }

 private:
  std::shared_ptr<Timed> timed() final { return shared_from_this(); }
  void start(Parker* here) final;
  void wait_in(Parker& here, TimePoint slice) final;
  void left(Parker& here) final;
  bool send_here(Parker& here) HOLDFAST_EXCLUDES(mutex_);
  // Set before another thread knows of the operation.
  Parker* first_reader() const HOLDFAST_UNCHECKED { return caller_.reader; }
  Parker* reader_of_reply() HOLDFAST_REQUIRES(mutex_);

  const LockName name_;
  const std::shared_ptr<client::Connection> connection_;
  struct Listening {
    std::shared_ptr<client::Subscriber> to;
    const std::string* channel = nullptr;
    bool excludes = false;
  };
  Listening listening_ HOLDFAST_GUARDED_BY(mutex_);  // for the thread in wait()
};
using OperationPtr = std::shared_ptr<Operation>;

using resp::error_word;
using resp::is_temporary;

// The error as the caller gets it, naming the key and what to do.
Status error_status(std::string_view text, const LockName& name, const std::string& server);

// A call for a lock that its owner is acquiring; `by_thread`: the owner, else a task.
Status under_way_status(const LockName& name, bool by_thread);

// How often a command that waits for an earlier renewal of its owner looks whether that has been
// answered.
inline constexpr Millis kHeldUp{2};

// The client of this name is closed, or being closed.
Status closed_status(const LockName& name);

// A failure to reach the server, naming the key; seen now, it also says the caller's time, if it
// has used all of that.
Status unreachable_status(const Status& why, const LockName& name);
Status unreachable_status(const Status& why, const LockName& name, const CallersTime& time,
                          TimePoint now);

}  // namespace holdfast::sync
