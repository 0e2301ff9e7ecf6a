#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/sync_points.h"
#include "client/connection.h"
#include "client/request.h"
#include "lease/lease_keeper.h"
#include "sync/context.h"
#include "sync/recipe.h"
#include "sync/release_operation.h"

namespace holdfast::sync {

// The last release of a hold, by the plain path, whose caller does not wait for the reply: the
// command, which stays in line for it, and carries its entry in the ledger. A reply that says that
// the lock is released ends it. Any other, or none, goes to a ReleaseOperation, whose caller has
// left, or waits until the command is written. A thread has one that it uses again and again, once
// it is answered. Thread-safe.
class LateRelease final : public client::Request {
 public:
  using Ptr = std::shared_ptr<LateRelease>;
  using ContextPtr = std::shared_ptr<const Context>;

  struct What {
    const HoldRecipe* recipe;
    const LockName* name;
    OwnerNumber owner;
    std::string_view channel;
  };

  // The calling thread's, which is in no line.
  static Ptr of_this_thread();

  // Before post(): whose release, and its command, in pieces, with the kinds of its reply.
  void prepare(ContextPtr context, const What& what,
               std::initializer_list<std::string_view> command, resp::ReplyKinds replies);
  // Writes it. kRefused: nothing was begun. kInLine: pass_on() follows.
  static client::Connection::Posted post(const Ptr& self, client::Connection& connection);
  // The calling thread waits, by `operation`, until it is written. False: it has ended.
  bool pass_on(const std::shared_ptr<ReleaseOperation>& operation);

  std::string_view key() const override { return name_.bytes(); }
  resp::ReplyKinds encode(std::string& out) const override {
    out += command_;
    return replies_;
  }
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;
  void written() override;

 private:
  bool begin(const Ptr& self);
  void released(std::int64_t reply) const;
  std::shared_ptr<ReleaseOperation> without_caller() const;
  void end();

  ContextPtr context_;
  const HoldRecipe* recipe_ = nullptr;
  LockName name_{std::string()};
  OwnerNumber owner_{};
  std::string channel_;
  std::string command_;
  resp::ReplyKinds replies_ = resp::ReplyKinds::any();
  TimePoint begun_{};
  lease::ReleasePlan plan_;
  Mutex mutex_;
  bool answered_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::shared_ptr<ReleaseOperation> successor_ HOLDFAST_GUARDED_BY(mutex_);
  SharedAtomic<ReleaseOperation*> awaits_writing_{nullptr};  // it, for written()
  SharedAtomic<bool> written_{false};
  std::atomic<bool> over_{true};  // it may be used again
};

}  // namespace holdfast::sync
