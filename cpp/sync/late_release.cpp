#include "sync/late_release.h"

#include <utility>

#include "base/parker.h"

namespace holdfast::sync {

LateRelease::Ptr LateRelease::of_this_thread() {
  thread_local Ptr own;
  const bool free = own && own->over_.load(std::memory_order_acquire) && own.use_count() == 1;
  if (!free) own = std::make_shared<LateRelease>();
  return own;
}

void LateRelease::prepare(ContextPtr context, const What& what,
                          std::initializer_list<std::string_view> command,
                          resp::ReplyKinds replies) {
  context_ = std::move(context);
  recipe_ = what.recipe;
  name_ = *what.name;
  owner_ = what.owner;
  channel_.assign(what.channel);
  replies_ = replies;
  command_.clear();
  for (const std::string_view piece : command) command_ += piece;
  begun_ = context_->clock.now();
  deferred = true;
  deadline = after(begun_, context_->command_timeout);
  awaits_writing_.store(nullptr, std::memory_order_relaxed);
  written_.store(false, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  answered_ = false;
}

client::Connection::Posted LateRelease::post(const Ptr& self, client::Connection& connection) {
  using Posted = client::Connection::Posted;
  self->over_.store(false, std::memory_order_relaxed);
  const auto begin = [&self] { return self->begin(self); };
  const Posted posted = connection.post(self, Parker::of_this_thread(), begin);
  if (posted == Posted::kRefused) self->end();
  return posted;
}

bool LateRelease::begin(const Ptr& self) {
  auto plan = context_->keeper->begin_plain_release(name_, owner_, begun_, self);
  if (!plan) return false;
  plan_ = std::move(*plan);
  return true;
}

bool LateRelease::pass_on(const std::shared_ptr<ReleaseOperation>& operation) {
  {
    const MutexLock lock(mutex_);
    if (answered_) return false;
    successor_ = operation;
    operation->adopt_unwritten(plan_, begun_);
  }
  awaits_writing_.store(operation.get());
  if (written_.load()) operation->written();
  return true;
}

void LateRelease::written() {
  written_.store(true);
  if (ReleaseOperation* const operation = awaits_writing_.load()) operation->written();
}

void LateRelease::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  std::shared_ptr<ReleaseOperation> operation;
  {
    const MutexLock lock(mutex_);
    answered_ = true;
    operation = successor_;
  }
  if (!operation && reply.ok() && reply.value().is_integer()) {
    released(reply.value().integer());
  } else {
    if (!operation) operation = without_caller();
    operation->complete(std::move(reply), sent);
  }
  end();
}

void LateRelease::released(std::int64_t reply) const {
  context_->keeper->released(name_, owner_, plan_);
  ReleaseOperation::told(*context_, *recipe_, channel_, reply).run();
}

std::shared_ptr<ReleaseOperation> LateRelease::without_caller() const {
  ReleaseOperation::What what{name_, owner_, false, true};
  auto operation = std::make_shared<ReleaseOperation>(context_, *recipe_, std::move(what));
  operation->adopt_left(plan_, begun_);
  return operation;
}

// What it refers to need not live as long as its thread.
void LateRelease::end() {
  awaits_writing_.store(nullptr);
  {
    const MutexLock lock(mutex_);
    successor_.reset();
  }
  plan_.left.reset();
  context_.reset();
  over_.store(true, std::memory_order_release);
}

}  // namespace holdfast::sync
