#include "engine/lock.h"

#include <utility>

#include "sync/acquire_operation.h"
#include "sync/call_operation.h"
#include "sync/kinds.h"
#include "sync/lock_calls.h"
#include "sync/release_operation.h"

namespace holdfast::engine {

using sync::CallOperation;

Lock::Lock(std::shared_ptr<Client> client, const sync::LockRecipe& recipe, const std::string& name,
           const Options& options)
    : client_(std::move(client)),
      recipe_(recipe),
      name_(client_->options().name_prefix + name, options.side),
      acquire_options_(options.acquire_options) {
  if (!recipe.plain() || acquire_options_.at_least > Millis(0)) return;
  if (!client_->options().asynchronous) {
    plain_.emplace(recipe, name_);
  } else if (&recipe == &sync::lock_recipe()) {
    plain_task_ = std::make_shared<sync::PlainTaskLock>(recipe, name_, acquire_options_);
  }
}

sync::OperationPtr Lock::acquire_operation(const Attempt& attempt) const {
  auto context = client_->context();
  const TimePoint now = context->clock.now();
  return attempt_at(now, std::move(context), attempt);
}

sync::ExchangePtr Lock::acquire_for_task(const Attempt& attempt) const {
  if (plain_task_ && !attempt.again && !attempt.part && !attempt.patience) {
    const sync::PlainTaskLock::Ask ask{attempt.owner, attempt.lease, attempt.listener,
                                       attempt.blocking, attempt.timeout};
    if (auto plain = plain_task_->acquire(client_->context(), ask)) return plain;
  }
  return acquire(attempt);
}

sync::ExchangePtr Lock::release_for_task(OwnerNumber owner) const {
  if (plain_task_) {
    if (auto plain = plain_task_->release(client_->context(), owner)) return plain;
  }
  return release(owner, false);
}

sync::Waited Lock::acquire_and_wait(const Attempt& attempt, sync::Interrupt* interrupt) const {
  const ContextPtr context = client_->context();
  if (plain_ && !attempt.again && !attempt.part && !attempt.patience) {
    const auto go_on = [&](TimePoint begun) { return attempt_at(begun, context, attempt); };
    const sync::PlainLock::Ask ask{attempt.owner, attempt.lease, attempt.listener, attempt.blocking,
                                   attempt.timeout};
    if (auto waited = plain_->acquire(context, ask, go_on, interrupt)) return std::move(*waited);
  }
  const auto operation = attempt_at(context->clock.now(), context, attempt);
  return {operation, operation->wait(interrupt)};
}

void Lock::give_back(const Attempt& attempt) const {
  sync::PendingRelease::give_back(client_->context(), recipe_,
                                  {name_, attempt.owner, 0, acquire_options_}, attempt.lease.time);
}

std::shared_ptr<sync::AcquireOperation> Lock::attempt_at(TimePoint begun, ContextPtr context,
                                                         const Attempt& attempt) const {
  const TimePoint deadline = after(begun, attempt.timeout);
  sync::AcquireOptions acquire_options = acquire_options_;
  if (!attempt.blocking || attempt.timeout <= Duration::zero())
    acquire_options.queue_timeout = Millis(0);
  if (attempt.member) acquire_options.at_least = Millis(0);
  return std::make_shared<sync::AcquireOperation>(
      std::move(context), recipe_,
      sync::AcquireRequest{name_, attempt.owner, attempt.lease, attempt.blocking, deadline,
                           attempt.listener, acquire_options, attempt.again, attempt.refusal_budget,
                           attempt.part, attempt.patience});
}

std::shared_ptr<sync::ReleaseOperation> Lock::new_release(ContextPtr context,
                                                          sync::ReleaseOperation::What what) const {
  return std::make_shared<sync::ReleaseOperation>(std::move(context), recipe_, std::move(what));
}

sync::OperationPtr Lock::release_operation(OwnerNumber owner, bool all) const {
  return new_release(client_->context(), {name_, owner, all});
}

sync::Waited Lock::release_and_wait(OwnerNumber owner, bool all, sync::Interrupt* interrupt) const {
  const ContextPtr context = client_->context();
  const auto go_on = [&] { return new_release(context, {name_, owner, all}); };
  if (plain_) {
    if (auto waited = plain_->release(context, owner, go_on, interrupt)) return std::move(*waited);
  }
  const auto operation = go_on();
  return {operation, operation->wait(interrupt)};
}

sync::ExchangePtr Lock::release_deferred(OwnerNumber owner) const {
  return new_release(client_->context(), {name_, owner, false, true});
}

sync::Waited Lock::release_deferred_and_wait(OwnerNumber owner, sync::Interrupt* interrupt) const {
  const ContextPtr context = client_->context();
  const auto go_on = [&] { return new_release(context, {name_, owner, false, true}); };
  if (plain_) {
    auto waited = plain_->release_deferred(context, owner, go_on, interrupt);
    if (waited) return std::move(*waited);
  }
  const auto operation = go_on();
  return {operation, operation->wait(interrupt)};
}

sync::OperationPtr Lock::extend_operation(OwnerNumber owner, Millis lease) const {
  return sync::extend(client_->context(), recipe_, name_, owner, lease);
}

sync::OperationPtr Lock::force_release_operation() const {
  return sync::force_release(client_->context(), recipe_, name_);
}

sync::OperationPtr Lock::locked_operation() const {
  return std::make_shared<CallOperation>(
      client_->context(), name_,
      [recipe = &recipe_, name = name_](script::Writer& out) { recipe->locked(out, name); });
}

sync::OperationPtr Lock::hold_count_operation(OwnerNumber owner) const {
  auto context = client_->context();
  const std::string field = owner_field(context->client_id, owner);
  return std::make_shared<CallOperation>(
      std::move(context), name_, [recipe = &recipe_, name = name_, field](script::Writer& out) {
        recipe->hold_count(out, {name, field});
      });
}

sync::OperationPtr Lock::ttl_operation() const {
  return std::make_shared<CallOperation>(
      client_->context(), name_,
      [recipe = &recipe_, name = name_](script::Writer& out) { recipe->ttl(out, name); });
}

sync::ExchangePtr Lock::detach(OwnerNumber owner, Millis lease) const {
  return std::make_shared<sync::DetachOperation>(client_->context(), recipe_, name_, owner, lease);
}

std::string Lock::ticket(OwnerNumber owner) const {
  const auto detached = client_->context()->keeper->detached(name_, owner);
  if (!detached) return {};
  return sync::to_text({std::string(movable_as()), detached->field, detached->token,
                        detached->lease, detached->minimum, name_.bytes()});
}

std::string_view Lock::movable_as() const {
  const sync::Movable* const movable = recipe_.movable();
  return movable != nullptr ? movable->ticket_kind() : std::string_view{};
}

void Lock::end_detach(OwnerNumber owner, bool done) const {
  client_->context()->keeper->end_detach(name_, owner, done);
}

sync::ExchangePtr Lock::attach(const sync::Ticket& ticket,
                               const sync::AttachOperation::Heir& heir) const {
  return std::make_shared<sync::AttachOperation>(client_->context(), recipe_, name_, ticket, heir);
}

void Lock::give_back(const sync::Ticket& ticket, OwnerNumber owner) const {
  sync::AttachOperation::give_back(client_->context(), recipe_, name_, ticket, owner);
}

Status Lock::may_use(OwnerNumber owner) const {
  if (!client_->context()->keeper->under_way(name_, owner)) return {};
  return sync::under_way_status(name_, !client_->options().asynchronous);
}

int Lock::known_count(OwnerNumber owner) const {
  return client_->context()->keeper->count(name_, owner);
}

int Lock::known_reads(OwnerNumber owner) const {
  return client_->context()->keeper->count(LockName(name_.bytes(), Side::kRead), owner);
}

std::vector<Lease> Lock::known_levels(OwnerNumber owner) const {
  return client_->context()->keeper->levels(name_, owner);
}

std::vector<lease::LeaseKeeper::Holder> Lock::known_owners() const {
  return client_->context()->keeper->holders(name_);
}

bool Lock::known_lost(OwnerNumber owner) const {
  return client_->context()->keeper->lost(name_, owner);
}

std::optional<std::string> Lock::known_loss(OwnerNumber owner) const {
  return client_->context()->keeper->loss(name_, owner);
}

std::optional<std::int64_t> Lock::known_token(OwnerNumber owner) const {
  return client_->context()->keeper->token(name_, owner);
}

std::optional<Duration> Lock::known_left(OwnerNumber owner) const {
  return client_->context()->keeper->left(name_, owner);
}

void Lock::forget_listener(OwnerNumber owner, std::uint64_t listener) const {
  client_->context()->keeper->forget_listener(name_, owner, listener);
}

void Lock::forget_loss(OwnerNumber owner) const {
  client_->context()->keeper->forget_loss(name_, owner);
}

std::shared_ptr<Lock> new_lock(std::shared_ptr<Client> client, std::string_view word,
                               const std::string& name, const sync::AcquireOptions& options) {
  const sync::LockKind* const kind = sync::find_lock_kind(word);
  if (kind == nullptr) return nullptr;
  return std::make_shared<Lock>(std::move(client), kind->recipe(), name,
                                Lock::Options{kind->side, options});
}

}  // namespace holdfast::engine
