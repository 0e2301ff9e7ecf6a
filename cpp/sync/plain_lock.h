#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/sync_points.h"
#include "sync/acquire_operation.h"
#include "sync/operation.h"
#include "sync/plain_request.h"
#include "sync/release_operation.h"

namespace holdfast::sync {

// The plain path of a lock, for threads: an attempt that is granted at once, and the last release
// of a hold, each of them one command and its reply, without an operation. It takes the same steps
// with the keeper, the ledger, the waiters and the figures as an operation does. What is not plain
// is not begun here: a nested hold, one with another lease than the lock's own, an owner that has
// something pending (but for a deferred release), a lock that others of this client wait for,
// grants that replicas confirm. Whatever reply is not the expected one goes to an operation as its
// first event.
//
// Thread-safe. For a kind that is plain().
class PlainLock {
 public:
  PlainLock(const LockRecipe& recipe, const LockName& name);
  ~PlainLock();
  PlainLock(const PlainLock&) = delete;
  PlainLock& operator=(const PlainLock&) = delete;

  using ContextPtr = std::shared_ptr<const Context>;
  // Makes the operation that goes on, for one that began at that moment.
  using MakeAcquire = std::function<std::shared_ptr<AcquireOperation>(TimePoint begun)>;
  using MakeRelease = std::function<std::shared_ptr<ReleaseOperation>()>;

  struct Ask {
    OwnerNumber owner;
    Lease lease;
    std::uint64_t listener = 0;
    bool blocking = true;
    Duration timeout = kNever - TimePoint{};
  };
  // Blocks as Exchange::wait(). Nothing: it is not plain, and nothing was done.
  std::optional<Waited> acquire(const ContextPtr& context, const Ask& ask, const MakeAcquire& make,
                                Interrupt* interrupt) const;
  std::optional<Waited> release(const ContextPtr& context, OwnerNumber owner,
                                const MakeRelease& make, Interrupt* interrupt) const;
  // Does not wait for the reply; `make` makes an operation for a deferred release.
  std::optional<Waited> release_deferred(const ContextPtr& context, OwnerNumber owner,
                                         const MakeRelease& make, Interrupt* interrupt) const;

 private:
  // What stands before and after the owner's field in a command.
  struct Halves {
    std::string head;
    std::string tail;
    resp::ReplyKinds replies = resp::ReplyKinds::any();
  };
  struct Encoded {
    Millis lease;
    std::string publish;
    Halves acquire;
    Halves release;
  };

  // A command of one owner, with its reply unless `interrupt`, or an exception, came first.
  struct Sending {
    std::shared_ptr<PlainRequest> request;
    bool answered = false;
    std::exception_ptr thrown{};  // no memory, threads or descriptors
  };
  struct Command {
    const Halves& halves;
    OwnerNumber owner;
    TimePoint begun;
    TimePoint patience = kNever;  // see client::Request
  };

  static bool cut(std::string_view command, std::string_view bulk, Halves& into);
  Sending send(const Context& with, const Command& command, Interrupt* interrupt) const;
  const Encoded* begin(const Context& with, const Ask& ask, lease::Attempt& attempt,
                       bool& takes_over) const;
  const Encoded* for_release(const Context& with) const;
  const Encoded* encoded(const Context& with, OwnerNumber owner, Millis lease) const;
  std::unique_ptr<Encoded> encode(const Context& with, OwnerNumber owner, Millis lease) const;
  struct Grant {
    TimePoint begun;
    TimePoint sent;
    std::optional<std::int64_t> token{};
  };
  bool is_grant(const PlainRequest& answered, Grant& grant) const;
  bool is_released(const PlainRequest& answered) const;
  bool keep(const Context& with, const Ask& ask, const Grant& grant, lease::Attempt& attempt) const;

  const LockRecipe& recipe_;
  const LockName& name_;
  const std::string channel_;
  mutable SharedAtomic<const Encoded*> encoded_{nullptr};  // made by the first use
};

}  // namespace holdfast::sync
