#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bindings/errors.h"
#include "bindings/members.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "locks/engine/client.h"
#include "locks/engine/counter.h"
#include "locks/engine/lock.h"
#include "locks/engine/permit_semaphore.h"
#include "locks/engine/quorum.h"
#include "locks/lease/hold.h"
#include "locks/sync/operation/ticket.h"
#include "locks/sync/quorum/quorum_round.h"
#include "locks/sync/recipes/kinds.h"
#include "locks/sync/recipes/permit_semaphore.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace lock_steps {
namespace {

using engine::Lockable;

// `backoff`: None, or a tuple of the first and the greatest rest, and by how much it grows.
sync::AcquireOptions options_of(Millis at_least, Millis queue_timeout, const py::object& backoff) {
  sync::AcquireOptions options;
  options.at_least = at_least;
  options.queue_timeout = queue_timeout;
  if (!backoff.is_none()) {
    const py::tuple parts(backoff);
    options.backoff = {parts[0].cast<Millis>(), parts[1].cast<Millis>(), parts[2].cast<double>()};
  }
  return options;
}

// Arguments: client, word, name, minimum hold time, queue timeout, back-off, and perhaps what it is
// for.
std::shared_ptr<engine::Lock> new_lock(const Given& given) {
  const auto client = given[0].cast<std::shared_ptr<engine::Client>>();
  const auto word = given[1].cast<std::string>();
  // Keys and channels of all kinds are in the slots of the plain lock's.
  const std::string checked = name_for(*client, given[2].cast<py::bytes>(), sync::lock_recipe());
  auto options =
      options_of(given[3].cast<Millis>(), given[4].cast<Millis>(), given[5].cast<py::object>());
  options.purpose = purpose_of(argument<std::optional<std::string>>(given, 6));
  auto lock = engine::new_lock(client, word, checked, options);
  if (!lock) throw py::value_error("no kind of lock has this name: " + word);
  return lock;
}

// Arguments: lock, owner, blocking, timeout, lease, renewed, listener, and perhaps the time of a
// call that has further exchanges, and what it is for. `block`: a block begins.
template <bool block>
sync::ExchangePtr acquire(const Given& given) {
  Lockable::AcquireArguments arguments{given[1].cast<OwnerNumber>(),
                                       {given[4].cast<Millis>(), given[5].cast<bool>()},
                                       given[2].cast<bool>(),
                                       given[3].cast<Duration>(),
                                       given[6].cast<std::uint64_t>()};
  arguments.block = block;
  arguments.callers_time = argument<std::optional<sync::CallersTime>>(given, 7);
  arguments.purpose = purpose_of(argument<std::optional<std::string>>(given, 8));
  return given[0].cast<const Lockable&>().acquire(arguments);
}

// A lease that is set while an attempt is under way would not be known to its grant.
sync::ExchangePtr extend(const Lockable& self, OwnerNumber owner, Millis lease) {
  refuse_inside_acquire(self, owner);
  return self.extend(owner, lease);
}

// The operation for a ticket that read_ticket() has accepted.
// Arguments: lock, ticket, owner, lease, renewed, listener.
sync::ExchangePtr attach(const Given& given) {
  return given[0].cast<const engine::Lock&>().attach(
      sync::parse_ticket(given[1].cast<std::string>()).value(),
      {given[2].cast<OwnerNumber>(),
       {given[3].cast<Millis>(), given[4].cast<bool>()},
       given[5].cast<std::uint64_t>()});
}

bool acquires(const Lockable& self, OwnerNumber owner) { return !self.may_use(owner).ok(); }

void give_back(const engine::Lock& self, const std::string& ticket, OwnerNumber owner) {
  self.give_back(sync::parse_ticket(ticket).value(), owner);
}

// Its only hold.
void release_unawaited(const engine::Lock& self, OwnerNumber owner) {
  self.release_unawaited({owner});
}

// What the client knows of the owner's hold.
template <auto field>
auto known(const Lockable& self, OwnerNumber owner) {
  return self.known(owner).*field;
}

py::list known_levels(const Lockable& self, OwnerNumber owner) {
  py::list leases;
  for (const Lease& lease : self.known(owner).levels) {
    leases.append(lease.renewed ? 0 : lease.time.count());
  }
  return leases;
}

py::list known_owners(const Lockable& self) {
  py::list owners;
  for (const auto& [owner, ended] : self.known_owners()) {
    owners.append(py::make_tuple(owner, ended));
  }
  return owners;
}

void add_to(py::module_& module) {
  using engine::Lock;
  const py::class_<Lockable, std::shared_ptr<Lockable>> lockable(module, "Lockable");
  Members(lockable)
      .method<&acquire<false>>("acquire")
      .method<&acquire<true>>("begin_block")
      .method<&Lockable::release>("release")
      .method<&Lockable::end_block>("end_block")
      .method<&Lockable::release_deferred>("release_deferred")
      .method<&extend>("extend")
      .method<&Lockable::force_release>("force_release")
      .method<&Lockable::locked>("locked")
      .method<&Lockable::hold_count>("hold_count")
      .method<&Lockable::ttl>("ttl")
      .method<&Lockable::known_count>("known_count")
      .method<&acquires>("acquires")
      .method<&known_levels>("known_levels")
      .method<&known_owners>("known_owners")
      .method<&known<&lease::Known::lost>>("known_lost")
      .method<&known<&lease::Known::loss>>("known_loss")
      .method<&known<&lease::Known::left>>("known_left")
      .method<&Lockable::forget_listener>("forget_listener")
      .property<&Lockable::foreign>("foreign");
  const py::class_<Lock, Lockable, std::shared_ptr<Lock>> lock(module, "Lock");
  Members(lock)
      .method<&Lock::detach>("detach")
      .method<&Lock::end_detach>("end_detach")
      .method<&attach>("attach")
      .method<&give_back>("give_back")
      .method<&release_unawaited>("release_unawaited")
      .method<&Lock::leave_to_lease>("leave_to_lease")
      .method<&Lock::same_as>("same_as")
      .method<&Lock::known_reads>("known_reads")
      .method<&known<&lease::Known::token>>("known_token")
      .property<&Lock::waiter>("waiter")
      .property<&Lock::movable_as>("movable_as");
  Members(module).def<&new_lock>("new_lock");
}

}  // namespace
}  // namespace lock_steps

namespace quorum_steps {
namespace {

using engine::Quorum;

template <auto rule>
std::shared_ptr<Quorum> quorum(const std::vector<std::shared_ptr<engine::Lock>>& members,
                               const py::bytes& name, const std::optional<std::string>& label) {
  return std::make_shared<Quorum>(Quorum::Members(members.begin(), members.end()), rule,
                                  std::string(name), purpose_of(label));
}

void add_to(py::module_& module) {
  const py::class_<Quorum, engine::Lockable, std::shared_ptr<Quorum>> type(module, "Quorum");
  Members(module)
      .def<&quorum<&sync::multi_lock_rule>>("multi_lock")
      .def<&quorum<&sync::red_lock_rule>>("red_lock");
}

}  // namespace
}  // namespace quorum_steps

namespace {

// How many permits an object of this kind sets up from now on; see engine::Setup.
template <typename Object, auto change>
std::int64_t expected(const Object& self, std::int64_t permits) {
  return (self.setup().*change)(permits);
}

}  // namespace

namespace counter_steps {
namespace {

using engine::Counter;

std::shared_ptr<Counter> new_counter(const std::shared_ptr<engine::Client>& client,
                                     std::string_view word, const py::bytes& name,
                                     std::int64_t setup) {
  const sync::CounterKind* const kind = sync::find_counter_kind(word);
  if (!kind) throw py::value_error("no kind of counter has this name: " + std::string(word));
  return std::make_shared<Counter>(client, *kind, name_for(*client, name, kind->recipe), setup);
}

sync::ExchangePtr call(const Counter& self, std::string_view step, std::int64_t amount) {
  if (auto operation = self.call(step, amount)) return operation;
  throw py::value_error("this kind of counter has no step of this name: " + std::string(step));
}

void add_to(py::module_& module) {
  using engine::Setup;
  const auto type = py::class_<Counter, std::shared_ptr<Counter>>(module, "Counter")
                        .def(py::init(&new_counter), py::arg("client"), py::arg("word"),
                             py::arg("name"), py::arg("setup") = -1);
  Members(type)
      .method<&expected<Counter, &Setup::expect>>("expect")
      .method<&expected<Counter, &Setup::expect_more>>("expect_more")
      .method<static_cast<sync::ExchangePtr (Counter::*)(std::int64_t, bool, Duration) const>(
          &Counter::acquire)>("acquire")
      .method<&Counter::wait>("wait")
      .method<&call>("call")
      .method<&Counter::value>("value")
      .method<&Counter::late_value>("late_value");
}

}  // namespace
}  // namespace counter_steps

namespace permit_semaphore_steps {
namespace {

using engine::PermitSemaphore;

// `party`: its permits are those of the parties of a barrier.
std::shared_ptr<PermitSemaphore> new_semaphore(const std::shared_ptr<engine::Client>& client,
                                               const py::bytes& name, std::int64_t setup,
                                               bool party,
                                               const std::optional<std::string>& label) {
  const sync::PermitKind& kind = party ? sync::party_kind() : sync::permit_kind();
  return std::make_shared<PermitSemaphore>(client, kind, name_for(*client, name, kind.renewed),
                                           setup, purpose_of(label));
}

// Arguments: semaphore, number, blocking, timeout, lease, renewed, listener, amount, time or None,
// and perhaps what they are for.
sync::ExchangePtr acquire(const Given& given) {
  PermitSemaphore::AcquireArguments arguments{
      given[1].cast<OwnerNumber>(),   {given[4].cast<Millis>(), given[5].cast<bool>()},
      given[2].cast<bool>(),          given[3].cast<Duration>(),
      given[6].cast<std::uint64_t>(), given[7].cast<std::int64_t>()};
  arguments.time = argument<std::optional<sync::CallersTime>>(given, 8);
  arguments.purpose = purpose_of(argument<std::optional<std::string>>(given, 9));
  return given[0].cast<const PermitSemaphore&>().acquire(arguments);
}

sync::ExchangePtr release_many(const PermitSemaphore& self,
                               const PermitSemaphore::Permits& permits) {
  const auto release = self.release_many(permits);
  if (const auto* lost = std::get_if<PermitSemaphore::Lost>(&release)) {
    const bool gone = lease::cause_of(lost->reason) == Event::Cause::kGone;
    raise(py::module_::import("holdfast._engine.errors")
              .attr("LostPermit")(lost->place, lost->owner, lost->reason, gone));
  }
  return std::get<sync::ExchangePtr>(release);
}

void add_to(py::module_& module) {
  using engine::Setup;
  const auto type =
      py::class_<PermitSemaphore, std::shared_ptr<PermitSemaphore>>(module, "PermitSemaphore")
          .def(py::init(&new_semaphore), py::arg("client"), py::arg("name"), py::arg("setup") = -1,
               py::arg("party") = false, py::arg("label") = py::none());
  Members(type)
      .method<&acquire>("acquire")
      .method<&PermitSemaphore::release>("release")
      .method<&PermitSemaphore::extend>("extend")
      .method<&PermitSemaphore::try_set_permits>("try_set_permits")
      .method<&release_many>("release_many")
      .method<&PermitSemaphore::set_permits>("set_permits")
      .method<&PermitSemaphore::add_permits>("add_permits")
      .method<&PermitSemaphore::value>("value")
      .method<&PermitSemaphore::late_value>("late_value")
      .method<&PermitSemaphore::permits>("permits")
      .method<&PermitSemaphore::acquired_permits>("acquired_permits")
      .method<&PermitSemaphore::lease_left>("lease_left")
      .method<&PermitSemaphore::known_lost>("known_lost")
      .method<&PermitSemaphore::remove>("delete")
      .method<&PermitSemaphore::leave>("leave")
      .method<&expected<PermitSemaphore, &Setup::expect>>("expect")
      .method<&expected<PermitSemaphore, &Setup::expect_more>>("expect_more");
}

}  // namespace
}  // namespace permit_semaphore_steps

void register_synchronizers(py::module_& module) {
  lock_steps::add_to(module);
  quorum_steps::add_to(module);
  counter_steps::add_to(module);
  permit_semaphore_steps::add_to(module);
}

}  // namespace holdfast::bindings
