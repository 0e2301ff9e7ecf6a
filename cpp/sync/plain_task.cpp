#include "sync/plain_task.h"

#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "sync/acquire_operation.h"
#include "sync/pending_release.h"
#include "sync/release_operation.h"

namespace holdfast::sync {

using ContextPtr = PlainTaskLock::ContextPtr;
using LockPtr = std::shared_ptr<const PlainTaskLock>;

// One command and its reply.
class PlainTaskLock::Task : public Exchange,
                            public client::Request,
                            public std::enable_shared_from_this<Task> {
 public:
  Task(ContextPtr context, LockPtr lock, const PlainCommands& commands)
      : context_(std::move(context)), lock_(std::move(lock)), commands_(commands) {}

  void finish_to(std::shared_ptr<Completion> completion, std::uint64_t id) final;
  std::optional<Outcome> wait(Interrupt* interrupt) final;
  void cancel() final;
  const LockName& name() const final { return lock_->name_; }
  std::string_view key() const final { return name().bytes(); }
  void complete(Result<resp::Reply> reply, const client::Sent& sent) final;

 protected:
  // With mutex_ held. The keeper's first step; false: it is not plain, and nothing was done.
  virtual bool begin(TimePoint now) HOLDFAST_REQUIRES(mutex_) = 0;
  // The keeper's second one; false: an operation has to judge the reply.
  virtual bool end(const resp::Reply& reply, TimePoint sent) HOLDFAST_REQUIRES(mutex_) = 0;
  // The operation that does it from the start; the same, after begin(), with that Completion.
  virtual OperationPtr operation(TimePoint now) HOLDFAST_REQUIRES(mutex_) = 0;
  virtual OperationPtr successor(std::shared_ptr<Completion> completion, std::uint64_t id)
      HOLDFAST_REQUIRES(mutex_) = 0;
  // The caller will never see that it is done.
  virtual void take_back() const {}
  virtual TimePoint patience_from(TimePoint now) const = 0;

  const Context& with() const { return *context_; }
  const ContextPtr& context() const { return context_; }
  const PlainTaskLock& lock() const { return *lock_; }
  const PlainCommands& commands() const { return commands_; }

  Mutex mutex_;

 private:
  enum class State { kFresh, kSent, kDone, kPassedOn };

  const OperationPtr& pass_on(OperationPtr to) HOLDFAST_REQUIRES(mutex_);

  const ContextPtr context_;
  const LockPtr lock_;
  const PlainCommands& commands_;  // the lock's
  State state_ HOLDFAST_GUARDED_BY(mutex_) = State::kFresh;
  std::shared_ptr<Completion> completion_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t id_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  OperationPtr successor_ HOLDFAST_GUARDED_BY(mutex_);  // of kPassedOn
};

void PlainTaskLock::Task::finish_to(std::shared_ptr<Completion> completion, std::uint64_t id) {
  const TimePoint now = with().clock.now();
  OperationPtr instead;
  {
    const MutexLock lock(mutex_);
    if (begin(now)) {
      state_ = State::kSent;
      completion_ = std::move(completion);
      id_ = id;
    } else {
      instead = pass_on(operation(now));
    }
  }
  if (instead) return instead->finish_to(std::move(completion), id);
  deadline = after(now, with().command_timeout);
  patience = patience_from(now);
  try {
    const auto connection = with().topology->route(key(), topology::Traffic::kCalls);
    const Status refused = connection->submit(shared_from_this());
    if (!refused.ok()) complete(refused, {});
  } catch (...) {  // no memory, threads or descriptors
    cancel();
    throw;
  }
}

std::optional<Outcome> PlainTaskLock::Task::wait(Interrupt* interrupt) {
  OperationPtr instead;
  {
    const MutexLock lock(mutex_);
    instead = pass_on(operation(with().clock.now()));
  }
  return instead->wait(interrupt);
}

const OperationPtr& PlainTaskLock::Task::pass_on(OperationPtr to) {
  state_ = State::kPassedOn;
  successor_ = std::move(to);
  return successor_;
}

void PlainTaskLock::Task::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  OperationPtr to;
  {
    const MutexLock lock(mutex_);
    if (state_ == State::kSent) {
      const std::shared_ptr<Completion> completion = std::exchange(completion_, nullptr);
      if (reply.ok() && end(reply.value(), sent.last)) {
        state_ = State::kDone;
        return completion->done(id_, {});
      }
      pass_on(successor(completion, id_));
    }
    to = successor_;
  }
  to->complete(std::move(reply), sent);
}

void PlainTaskLock::Task::cancel() {
  OperationPtr to;
  {
    const MutexLock lock(mutex_);
    if (state_ == State::kSent) pass_on(successor(std::exchange(completion_, nullptr), id_));
    to = successor_;
    if (state_ == State::kFresh) state_ = State::kDone;
  }
  if (!to) return take_back();
  to->cancel();
  if (to->abandoned()) abandon();
}

// ---- An attempt

class PlainTaskLock::Attempt final : public Task {
 public:
  Attempt(ContextPtr context, LockPtr lock, const PlainCommands& commands, const Ask& ask)
      : Task(std::move(context), std::move(lock), commands),
        ask_(ask),
        attempt_(*with().keeper, name(), ask.owner) {}

  resp::ReplyKinds encode(std::string& out) const override {
    return commands().acquire(out, with(), ask_.owner);
  }

 private:
  bool begin(TimePoint now) override {
    begun_ = now;
    using Begun = lease::LeaseKeeper::PlainAttempt;
    const Begun begun = with().keeper->begin_plain_attempt(attempt_);
    takes_over_ = begun == Begun::kTakesOver;
    return begun != Begun::kNotBegun;
  }
  bool end(const resp::Reply& reply, TimePoint sent) override;
  OperationPtr operation(TimePoint now) override { return acquire_from(now); }
  OperationPtr successor(std::shared_ptr<Completion> completion, std::uint64_t id) override;
  void take_back() const override;
  TimePoint patience_from(TimePoint now) const override {
    return patience_of(ask_.blocking, after(now, ask_.timeout), now);
  }
  std::shared_ptr<AcquireOperation> acquire_from(TimePoint begun) const;

  const Ask ask_;
  lease::Attempt attempt_;
  TimePoint begun_{};
  bool takes_over_ = false;
  bool granted_ = false;
};

// False where the client is being closed, or the grant came too late to be trusted.
bool PlainTaskLock::Attempt::end(const resp::Reply& reply, TimePoint sent) {
  const TimePoint now = with().clock.now();
  if (!reply.is_nil() || now >= trusted_until(sent, ask_.lease.time)) return false;
  const lease::Grant grant{name(),          ask_.owner,    1,  ask_.lease, sent,
                           &lock().recipe_, ask_.listener, {}, Millis(0),  now};
  if (!with().keeper->granted(grant, attempt_)) return false;
  with().stats->granted(false, now - begun_);
  granted_ = true;
  return true;
}

std::shared_ptr<AcquireOperation> PlainTaskLock::Attempt::acquire_from(TimePoint begun) const {
  AcquireRequest request{
      name(), ask_.owner, ask_.lease, ask_.blocking, after(begun, ask_.timeout), ask_.listener};
  request.acquire_options = lock().options_;
  return std::make_shared<AcquireOperation>(context(), lock().recipe_, std::move(request));
}

OperationPtr PlainTaskLock::Attempt::successor(std::shared_ptr<Completion> completion,
                                               std::uint64_t id) {
  const auto operation = acquire_from(begun_);
  operation->report_to(std::move(completion), id);
  operation->adopt(begun_, takes_over_, std::move(attempt_));
  return operation;
}

void PlainTaskLock::Attempt::take_back() const {
  if (!granted_) return;
  PendingRelease::give_back(context(), lock().recipe_, {name(), ask_.owner, 0, lock().options_},
                            ask_.lease.time);
}

// ---- A release

class PlainTaskLock::Release final : public Task {
 public:
  Release(ContextPtr context, LockPtr lock, const PlainCommands& commands, OwnerNumber owner)
      : Task(std::move(context), std::move(lock), commands), owner_(owner) {}

  resp::ReplyKinds encode(std::string& out) const override {
    return commands().release(out, with(), owner_);
  }

 private:
  bool begin(TimePoint now) override {
    begun_ = now;
    plan_ = with().keeper->begin_plain_release(name(), owner_, now);
    return plan_.has_value();
  }
  // Free, and no subscriber got the message.
  bool end(const resp::Reply& reply, TimePoint /*sent*/) override {
    if (!reply.is_integer() || reply.integer() != 1) return false;
    with().keeper->released(name(), owner_, *plan_);
    return true;
  }
  OperationPtr operation(TimePoint /*now*/) override { return release(); }
  OperationPtr successor(std::shared_ptr<Completion> completion, std::uint64_t id) override {
    const auto operation = release();
    operation->report_to(std::move(completion), id);
    operation->adopt(*plan_, begun_);
    return operation;
  }
  TimePoint patience_from(TimePoint /*now*/) const override { return kNever; }
  std::shared_ptr<ReleaseOperation> release() const {
    return std::make_shared<ReleaseOperation>(context(), lock().recipe_,
                                              ReleaseOperation::What{name(), owner_});
  }

  const OwnerNumber owner_;
  TimePoint begun_{};
  std::optional<lease::ReleasePlan> plan_;
};

// ---- The lock

PlainTaskLock::PlainTaskLock(const LockRecipe& recipe, LockName name, const AcquireOptions& options)
    : recipe_(recipe),
      name_(std::move(name)),
      options_(options),
      channel_(recipe.channel(name_, {}).bytes()) {}

PlainTaskLock::~PlainTaskLock() { delete commands_.load(); }

const PlainCommands* PlainTaskLock::commands(const Context& with, Millis lease) const {
  const PlainCommands* known = commands_.load(std::memory_order_acquire);
  if (known == nullptr) {
    auto fresh = PlainCommands::encode(with, recipe_, name_, lease);
    if (fresh && commands_.compare_exchange_strong(known, fresh.get())) known = fresh.release();
  }
  return known != nullptr && known->fit(with, lease) ? known : nullptr;
}

ExchangePtr PlainTaskLock::acquire(ContextPtr context, const Ask& ask) const {
  if (context->acknowledger || !context->waits->idle(channel_)) return nullptr;
  const PlainCommands* const known = commands(*context, ask.lease.time);
  if (known == nullptr) return nullptr;
  return std::make_shared<Attempt>(std::move(context), shared_from_this(), *known, ask);
}

ExchangePtr PlainTaskLock::release(ContextPtr context, OwnerNumber owner) const {
  const PlainCommands* const known = commands_.load(std::memory_order_acquire);
  if (known == nullptr || !known->fit(*context)) return nullptr;
  if (!context->waits->idle(channel_)) return nullptr;
  return std::make_shared<Release>(std::move(context), shared_from_this(), *known, owner);
}

}  // namespace holdfast::sync
