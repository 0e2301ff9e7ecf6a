#include "locks/engine/permit_semaphore.h"

#include <algorithm>
#include <utility>

#include "locks/lease/overview.h"
#include "locks/sync/operation/acquire.h"
#include "locks/sync/operation/calls.h"
#include "locks/sync/operation/hold_release.h"
#include "locks/sync/operation/query_operation.h"

namespace holdfast::engine {

namespace {
// How long the release of a permit known only by its id is repeated while the server is out of
// reach.
constexpr Millis kLongestLease{60'000};

}  // namespace

PermitSemaphore::PermitSemaphore(std::shared_ptr<Client> client, const sync::PermitKind& kind,
                                 const std::string& name, std::int64_t its_setup, Purpose purpose)
    : setup(its_setup),
      client_(std::move(client)),
      kind_(kind),
      name_(client_->options().name_prefix + name),
      renewed_(std::make_shared<sync::Synchronizer>(
          kind_.renewed, name_, sync::AcquireOptions{{}, {}, {}, std::move(purpose)})),
      leased_(std::make_shared<sync::Synchronizer>(kind_.leased, name_)) {}

sync::ExchangePtr PermitSemaphore::acquire(sync::AcquireArguments arguments) const {
  const auto context = client_->started();
  if (!arguments.purpose) arguments.purpose = renewed_->options.purpose;
  // A hold without a listener is left to the server, unless a guard is to release it, or the
  // client's key says since when it lasts.
  const bool watched = arguments.lease.renewed || arguments.listener != 0 || arguments.purpose ||
                       client_->options().label || context->keeper->recorded;
  sync::AcquireRequest request(watched ? renewed_ : leased_, arguments);
  request.setup = setup.permits();
  return std::make_shared<sync::Acquire>(context, std::move(request));
}

bool PermitSemaphore::idle() const {
  const auto context = client_->started();
  return renewed_->idle(*context, {}, context->clock.now());
}

std::string PermitSemaphore::permit(OwnerNumber number) const {
  return sync::permit_id(client_->context()->client_id, number);
}

sync::ExchangePtr PermitSemaphore::release(const std::string& permit) const {
  auto context = client_->context();
  const auto number = sync::permit_number(context->client_id, permit);
  if (number && context->keeper->knows(name_, *number)) {
    return std::make_shared<sync::HoldRelease>(std::move(context), renewed_,
                                               sync::HoldRelease::Order{*number});
  }
  context = client_->started();
  sync::StepRelease::Command release{
      [&row = kind_.release, name = name_, permit](script::Writer& out) {
        row.write(out, sync::about_permits(name, permit));
      }};
  release.answered = [context, &recipe = kind_.renewed, name = name_](
                         std::optional<std::int64_t>& value, const client::Sent& sent) {
    if (value) {
      const std::string channel = recipe.channel(name, {});
      // Permits are not handed over, so no waiter is called.
      (void)context->waits->published(channel, *value - 1, context->clock.now());
    }
    // An earlier sending may have released it; it is not in use in any case.
    value = value || sent.times > 1 ? 1 : 0;
    if (*value == 1) context->stats->add(Stats::Counter::kReleased);
  };
  // Only the id is known here, not the lease. A permit is given back once at most.
  release.lease = kLongestLease;
  return std::make_shared<sync::StepRelease>(context, name_, next_owner_number(),
                                             std::move(release));
}

// The numbers of those that this client has taken.
lease::Releases::Owners PermitSemaphore::owners_of(const Permits& permits) const {
  lease::Releases::Owners owners;
  for (const std::string& permit : permits) {
    const auto number = sync::permit_number(client_->context()->client_id, permit);
    if (number) owners.push_back(*number);
  }
  return owners;
}

std::variant<sync::ExchangePtr, PermitSemaphore::Lost> PermitSemaphore::release_many(
    const Permits& permits) const {
  auto context = client_->started();
  if (const auto lost = context->keeper->releases.begin_together(name_, owners_of(permits))) {
    const auto found = std::find(permits.begin(), permits.end(), permit(lost->owner));
    return Lost{static_cast<std::size_t>(found - permits.begin()), lost->owner, lost->reason};
  }
  sync::CounterRequestPtr request = context->slots->take();
  const Millis memory = sync::request_memory(*context);
  sync::StepRelease::Command release;
  release.memory = memory / 2;
  std::string joined;
  for (const std::string& permit : permits) joined += permit;
  release.write = [name = name_, context, memory, request, joined](script::Writer& out) {
    sync::Step step = sync::about_permits(name, joined);
    step.owner = {context->client_id, request->slot};
    step.options.memory = memory;
    step.options.request = request->number;
    sync::release_together(out, step);
  };
  release.answered = [keeper = context->keeper, name = name_, owners = owners_of(permits)](
                         const std::optional<std::int64_t>& value, const client::Sent& /*sent*/) {
    keeper->releases.end_together(name, owners, value.value_or(0) > 0);
  };
  return std::make_shared<sync::StepRelease>(std::move(context), name_, request->slot,
                                             std::move(release));
}

void PermitSemaphore::leave(const Permits& permits) const {
  const auto context = client_->context();
  for (const OwnerNumber owner : owners_of(permits)) {
    context->keeper->releases.leave_to_lease(name_, owner, Millis(0));
  }
}

sync::ExchangePtr PermitSemaphore::extend(const std::string& permit, Millis lease) const {
  const auto context = client_->started();
  const auto number = sync::permit_number(context->client_id, permit);
  if (number && context->keeper->knows(name_, *number)) {
    return sync::extend(context, kind_.renewed, name_, *number, lease);
  }
  sync::Query query{name_, [name = name_, permit, lease](script::Writer& out) {
                      sync::permit_steps().extend.write(out,
                                                        sync::about_permits(name, permit, lease));
                    }};
  // It may have been this client's.
  query.held_up = [keeper = context->keeper, name = name_, number] {
    return number && keeper->renewal_on_wire(name, *number);
  };
  return sync::call_of(context, std::move(query));
}

sync::ExchangePtr PermitSemaphore::try_set_permits(std::int64_t permits) const {
  return sync::call_of(client_->started(),
                       {name_, [name = name_, permits](script::Writer& out) {
                          sync::permit_steps().try_set_permits.write(
                              out, {name, {}, 0, Millis(0), {Millis(0), Millis(0), permits}});
                        }});
}

sync::ExchangePtr PermitSemaphore::set_permits(std::int64_t permits) const {
  return sync::counter_call(client_->started(), name_, sync::permit_steps().set_permits, permits);
}

sync::ExchangePtr PermitSemaphore::add_permits(std::int64_t permits) const {
  return sync::counter_call(client_->started(), name_, sync::permit_steps().add_permits, permits);
}

sync::ExchangePtr PermitSemaphore::query(const sync::Row& row,
                                         const sync::CallersTime& time) const {
  sync::Query query = sync::query_of(row, name_);
  query.time = time;
  return sync::call_of(client_->started(), std::move(query));
}

sync::ExchangePtr PermitSemaphore::value(bool late) const {
  return query(sync::permit_steps().available, late ? client_->late() : sync::CallersTime());
}

sync::ExchangePtr PermitSemaphore::permits() const { return query(sync::permit_steps().permits); }

sync::ExchangePtr PermitSemaphore::acquired_permits() const {
  return query(sync::permit_steps().acquired);
}

bool PermitSemaphore::known_lost(const std::string& permit) const {
  const auto owners = owners_of({permit});
  return !owners.empty() && client_->context()->keeper->known(name_, owners.front()).lost;
}

sync::ExchangePtr PermitSemaphore::lease_left(const std::string& permit) const {
  return sync::call_of(client_->started(), {name_, [name = name_, permit](script::Writer& out) {
                                              sync::permit_steps().lease_left.write(
                                                  out, sync::about_permits(name, permit));
                                            }});
}

sync::ExchangePtr PermitSemaphore::remove() const {
  const auto context = client_->started();
  sync::Query query = sync::query_of(sync::permit_steps().remove, name_);
  query.answered = [keeper = context->keeper, name = name_](std::optional<std::int64_t> /*value*/,
                                                            const client::Sent& sent) {
    lease::forced(*keeper, name, sent.last);
  };
  return sync::call_of(context, std::move(query));
}

}  // namespace holdfast::engine
