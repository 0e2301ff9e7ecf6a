#include "engine/permit_semaphore.h"

#include <utility>

#include "sync/call/call.h"
#include "sync/call/first_acquire.h"
#include "sync/call/first_query.h"
#include "sync/call/first_release.h"

namespace holdfast::engine {

namespace {
// How long the release of a permit known only by its id is repeated while the server is out of
// reach.
constexpr Millis kLongestLease{60'000};
}  // namespace

PermitSemaphore::PermitSemaphore(std::shared_ptr<Client> client, const std::string& name)
    : client_(std::move(client)),
      name_(client_->options().name_prefix + name),
      renewed_(std::make_shared<sync::Synchronizer>(sync::renewed_permit_recipe(), name_)),
      leased_(std::make_shared<sync::Synchronizer>(sync::leased_permit_recipe(), name_)) {}

sync::ExchangePtr PermitSemaphore::acquire(const AcquireArguments& given) const {
  // A hold without a listener is left to the server.
  const bool watched = given.lease.renewed || given.listener != 0;
  sync::AcquireArguments arguments{given.number, given.lease, given.blocking, given.timeout,
                                   given.listener};
  return std::make_shared<sync::CallOf<sync::FirstAcquire>>(
      client_->context(), sync::AcquireRequest(watched ? renewed_ : leased_, arguments));
}

std::string PermitSemaphore::permit(OwnerNumber number) const {
  return sync::permit_id(client_->context()->client_id, number);
}

PermitSemaphore::PermitRelease PermitSemaphore::release(const std::string& permit) const {
  auto context = client_->context();
  const auto number = sync::permit_number(context->client_id, permit);
  if (!number || !context->keeper->knows(name_, *number)) return {release_by_id(permit), false};
  return {std::make_shared<sync::CallOf<sync::FirstRelease>>(std::move(context), renewed_,
                                                             sync::FirstRelease::What{*number}),
          true};
}

sync::ExchangePtr PermitSemaphore::release_by_id(const std::string& permit) const {
  const auto context = client_->context();
  sync::Query release{name_, [name = name_, permit](script::Writer& out) {
                        sync::release_permit(out, name, permit);
                      }};
  release.answered = [context, name = name_](std::optional<std::int64_t>& value,
                                             const client::Sent& sent) {
    if (value) {
      const std::string channel = sync::renewed_permit_recipe().channel(name, {}).bytes();
      // Permits are not handed over, so no waiter is called.
      (void)context->waits->published(channel, *value - 1, context->clock.now());
    }
    // An earlier sending may have released it; it is not in use in any case.
    value = value || sent.times > 1 ? 1 : 0;
  };
  // Only the id is known here, not the lease. A permit is given back once at most.
  release.returns = {next_owner_number(), Millis(0), kLongestLease};
  return sync::call_of(context, std::move(release));
}

sync::ExchangePtr PermitSemaphore::extend(const std::string& permit, Millis lease) const {
  const auto context = client_->context();
  const auto number = sync::permit_number(context->client_id, permit);
  if (number && context->keeper->count(name_, *number) > 0) {
    // From now on it is not renewed, even if this fails, but expires on the server.
    context->keeper->releases().leave_to_lease(name_, *number);
  }
  return sync::call_of(context, {name_, [name = name_, permit, lease](script::Writer& out) {
                                   sync::extend_permit(out, name, permit, lease);
                                 }});
}

sync::ExchangePtr PermitSemaphore::try_set_permits(std::int64_t permits) const {
  return sync::call_of(client_->context(), {name_, [name = name_, permits](script::Writer& out) {
                                              sync::try_set_permits(out, name, permits);
                                            }});
}

sync::ExchangePtr PermitSemaphore::value() const {
  return sync::call_of(client_->context(), {name_, [name = name_](script::Writer& out) {
                                              sync::available_permits(out, name);
                                            }});
}

sync::ExchangePtr PermitSemaphore::remove() const {
  const auto context = client_->context();
  return sync::call_of(
      context, {name_, [name = name_](script::Writer& out) { sync::delete_permits(out, name); },
                [keeper = context->keeper, name = name_](std::optional<std::int64_t> /*value*/,
                                                         const client::Sent& sent) {
                  keeper->forced(name, sent.last);
                }});
}

}  // namespace holdfast::engine
