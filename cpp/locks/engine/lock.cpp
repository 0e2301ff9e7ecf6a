#include "locks/engine/lock.h"

#include <utility>

#include "locks/lease/overview.h"
#include "locks/sync/operation/acquire.h"
#include "locks/sync/operation/calls.h"
#include "locks/sync/operation/query_operation.h"
#include "locks/sync/recipes/kinds.h"

namespace holdfast::engine {

Lock::Lock(std::shared_ptr<Client> client, const sync::LockRecipe& recipe, const std::string& name,
           const Options& options)
    : client_(std::move(client)),
      synchronizer_(std::make_shared<sync::Synchronizer>(
          recipe, LockName(client_->options().name_prefix + name, options.side),
          options.acquire_options)) {}

std::shared_ptr<client::Connection> Lock::connection() const {
  return client_->context()->topology->route(name().bytes(), topology::Traffic::kCalls);
}

sync::ExchangePtr Lock::acquire(const AcquireArguments& arguments) const {
  return std::make_shared<sync::Acquire>(client_->started(),
                                         sync::AcquireRequest(synchronizer_, arguments));
}

sync::ExchangePtr Lock::release(const sync::HoldRelease::Order& order) const {
  return std::make_shared<sync::HoldRelease>(client_->started(), synchronizer_, order);
}

void Lock::release_unawaited(const sync::HoldRelease::Order& order) const {
  (void)sync::HoldRelease::give_back(client_->context(), synchronizer_, order);
}

void Lock::leave_to_lease(OwnerNumber owner) const {
  client_->context()->keeper->releases.leave_to_lease(name(), owner, Millis(0));
}

sync::ExchangePtr Lock::extend(OwnerNumber owner, Millis lease) const {
  return sync::extend(client_->started(), recipe(), name(), owner, lease);
}

sync::ExchangePtr Lock::force_release(OwnerNumber by) const {
  return sync::force_release(client_->started(), recipe(), name(), by);
}

sync::ExchangePtr Lock::locked() const {
  return sync::call_of(client_->started(), sync::query_of(recipe().steps.locked, name()));
}

sync::ExchangePtr Lock::hold_count(OwnerNumber owner) const {
  auto context = client_->started();
  const std::string field = owner_field(context->client_id, owner);
  return sync::call_of(std::move(context),
                       sync::query_of(recipe().steps.hold_count, name(), field));
}

sync::ExchangePtr Lock::ttl() const {
  return sync::call_of(client_->started(), sync::query_of(recipe().steps.ttl, name()));
}

sync::ExchangePtr Lock::detach(OwnerNumber owner, Millis lease) const {
  sync::ExchangePtr detach = sync::detach(client_->started(), recipe(), name(), owner, lease);
  return detach ? detach : release({owner});  // which says why there is no hold
}

std::string Lock::end_detach(OwnerNumber owner) const {
  lease::Releases& releases = client_->context()->keeper->releases;
  const auto detached = releases.detached(name(), owner);
  if (!detached || !releases.end_detach(name(), owner)) return {};
  return sync::to_text({std::string(movable_as()), detached->field, detached->token,
                        detached->lease, detached->minimum, name().text()});
}

std::string_view Lock::movable_as() const { return recipe().traits.ticket; }

sync::ExchangePtr Lock::attach(const sync::Ticket& ticket,
                               const sync::AttachOperation::Recipient& recipient) const {
  return std::make_shared<sync::AttachOperation>(client_->started(), recipe(), name(), ticket,
                                                 recipient);
}

void Lock::give_back(const sync::Ticket& ticket, OwnerNumber owner) const {
  sync::AttachOperation::give_back(client_->context(), recipe(), name(), ticket, owner);
}

Status Lock::may_use(OwnerNumber owner) const {
  if (!client_->context()->keeper->acquiring(name(), owner)) return {};
  return sync::under_way_status(name(), !client_->options().asynchronous);
}

int Lock::known_count(OwnerNumber owner) const {
  return client_->context()->keeper->count(name(), owner);
}

int Lock::known_reads(OwnerNumber owner) const {
  return client_->context()->keeper->count(LockName(name(), Side::kRead), owner);
}

lease::Known Lock::known(OwnerNumber owner) const {
  return client_->context()->keeper->known(name(), owner);
}

std::vector<lease::Holder> Lock::known_owners() const {
  return lease::holders(*client_->context()->keeper, name());
}

void Lock::forget_listener(OwnerNumber owner, std::uint64_t listener) const {
  client_->context()->keeper->forget_listener(name(), owner, listener);
}

void Lock::forget_loss(OwnerNumber owner) const {
  client_->context()->keeper->forget_loss(name(), owner);
}

void Lock::forget_loss_in_acquire(OwnerNumber owner) const {
  (void)lease::Attempt(*client_->context()->keeper, name(), owner).refuse();
}

std::shared_ptr<Lock> new_lock(std::shared_ptr<Client> client, std::string_view word,
                               const std::string& name, const sync::AcquireOptions& options) {
  const sync::LockKind* const kind = sync::find_lock_kind(word);
  if (kind == nullptr) return nullptr;
  return std::make_shared<Lock>(std::move(client), kind->recipe(), name,
                                Lock::Options{kind->side, options});
}

}  // namespace holdfast::engine
