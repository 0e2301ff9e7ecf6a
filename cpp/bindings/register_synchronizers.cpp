#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/conversions.h"
#include "bindings/errors.h"
#include "bindings/permits.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "locks/locks.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

// Null: none are given.
std::shared_ptr<const sync::Terms> shared_terms(std::optional<sync::Terms> given) {
  return given ? std::make_shared<const sync::Terms>(std::move(*given)) : nullptr;
}

}  // namespace

namespace lock_steps {
namespace {

using engine::Lockable;

// `backoff`: None, or a tuple of the first and the greatest rest, and by how much it grows.
void add_new_lock(py::module_& module) {
  const auto make = [](const std::shared_ptr<engine::Client>& client, const std::string& word,
                       const py::bytes& name, Millis at_least, Millis queue_timeout,
                       const py::object& backoff, const std::optional<std::string>& label) {
    // Keys and channels of all kinds are in the slots of the plain lock's.
    const std::string checked = name_for(*client, name, sync::lock_recipe());
    sync::AcquireOptions options;
    options.at_least = at_least;
    options.queue_timeout = queue_timeout;
    if (!backoff.is_none()) {
      const py::tuple parts(backoff);
      options.backoff = {parts[0].cast<Millis>(), parts[1].cast<Millis>(), parts[2].cast<double>()};
    }
    options.purpose = purpose_of(label);
    auto lock = engine::new_lock(client, word, checked, options);
    if (!lock) throw py::value_error("no kind of lock has this name: " + word);
    return lock;
  };
  module.def("new_lock", make);
}

// `block`: a block begins.
template <bool block>
void add_acquire(py::class_<Lockable, std::shared_ptr<Lockable>>& type, const char* name) {
  const auto acquire = [](const Lockable& self, OwnerNumber owner, bool blocking, Duration timeout,
                          Millis lease, bool renewed, std::uint64_t listener,
                          const std::optional<std::string>& label) {
    Lockable::AcquireArguments arguments{owner, {lease, renewed}, blocking, timeout, listener};
    arguments.block = block;
    arguments.purpose = purpose_of(label);
    return self.acquire(arguments);
  };
  type.def(name, acquire);
}

// An acquisition that is part of a call of several exchanges; its grant is kept by that.
void add_keeping(py::module_& module) {
  const auto keeping = [](const Lockable& self, OwnerNumber owner, Millis lease, bool renewed,
                          std::uint64_t listener, const sync::CallersTime& time,
                          std::optional<sync::Terms> terms) {
    events_needed();
    Lockable::AcquireArguments arguments{owner, {lease, renewed}};
    arguments.listener = listener;
    arguments.callers_time = time;
    arguments.terms = shared_terms(std::move(terms));
    return std::make_shared<sync::Keeping>(self.acquire(arguments));
  };
  module.def("keeping", keeping);
}

// A fact that the client knows of the owner's hold.
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

void add_releases(py::class_<Lockable, std::shared_ptr<Lockable>>& lockable) {
  using Mode = Lockable::ReleaseMode;
  lockable
      .def("release", [](const Lockable& self, OwnerNumber owner,
                         bool all) { return self.release(owner, Mode{all}); })
      .def("end_block",
           [](const Lockable& self, OwnerNumber owner, bool deferred) {
             return self.release(owner, Mode{false, deferred, true});
           })
      .def("release_deferred", [](const Lockable& self, OwnerNumber owner) {
        return self.release(owner, Mode{false, true});
      });
}

void add_to(py::module_& module) {
  using engine::Lock;
  py::class_<Lockable, std::shared_ptr<Lockable>> lockable(module, "Lockable");
  add_acquire<false>(lockable, "acquire");
  add_acquire<true>(lockable, "begin_block");
  add_releases(lockable);
  lockable
      // A lease that is set while an attempt is under way would not be known to its grant.
      .def("extend",
           [](const Lockable& self, OwnerNumber owner, Millis lease) {
             refuse_inside_acquire(self, owner);
             return self.extend(owner, lease);
           })
      .def("force_release", &Lockable::force_release)
      .def("locked", &Lockable::locked)
      .def("hold_count", &Lockable::hold_count)
      .def("ttl", &Lockable::ttl)
      .def("known_count", &Lockable::known_count)
      .def("acquires",
           [](const Lockable& self, OwnerNumber owner) { return !self.may_use(owner).ok(); })
      .def("known_levels", &known_levels)
      .def("known_owners", &known_owners)
      .def("known_lost", &known<&lease::Known::lost>)
      .def("known_loss", &known<&lease::Known::loss>)
      .def("known_left", &known<&lease::Known::left>)
      .def("forget_listener", &Lockable::forget_listener)
      .def_property_readonly("foreign", &Lockable::foreign);
  py::class_<Lock, Lockable, std::shared_ptr<Lock>>(module, "Lock")
      .def("detach", &Lock::detach)
      .def("end_detach", &Lock::end_detach)
      // For a ticket that read_ticket() has accepted.
      .def("attach",
           [](const Lock& self, const std::string& ticket, OwnerNumber owner, Millis lease,
              bool renewed, std::uint64_t listener) {
             return self.attach(sync::parse_ticket(ticket).value(),
                                {owner, {lease, renewed}, listener});
           })
      .def("give_back",
           [](const Lock& self, const std::string& ticket, OwnerNumber owner) {
             self.give_back(sync::parse_ticket(ticket).value(), owner);
           })
      // Its only hold.
      .def("release_unawaited",
           [](const Lock& self, OwnerNumber owner) { self.release_unawaited({owner}); })
      .def("leave_to_lease", &Lock::leave_to_lease)
      .def("same_as", &Lock::same_as)
      .def("known_reads", &Lock::known_reads)
      .def("known_token", &known<&lease::Known::token>)
      .def_property_readonly("waiter", &Lock::waiter)
      .def_property_readonly("movable_as", &Lock::movable_as);
  add_new_lock(module);
  add_keeping(module);
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
  module.def("multi_lock", &quorum<&sync::multi_lock_rule>)
      .def("red_lock", &quorum<&sync::red_lock_rule>);
}

}  // namespace
}  // namespace quorum_steps

namespace {

// How many permits an object of this kind sets up from now on; see engine::PermitSetup.
template <typename Object, auto change>
std::int64_t expected(const Object& self, std::int64_t permits) {
  return (self.setup.*change)(permits);
}

}  // namespace

namespace counter_steps {
namespace {

using engine::Counter;

void add_to(py::module_& module) {
  using engine::PermitSetup;
  py::class_<Counter, std::shared_ptr<Counter>>(module, "Counter")
      .def(py::init([](const std::shared_ptr<engine::Client>& client, std::string_view word,
                       const py::bytes& name, std::int64_t setup) {
             const sync::CounterKind* const kind = sync::find_counter_kind(word);
             if (!kind) {
               throw py::value_error("no kind of counter has this name: " + std::string(word));
             }
             return std::make_shared<Counter>(client, *kind, name_for(*client, name, kind->recipe),
                                              setup);
           }),
           py::arg("client"), py::arg("word"), py::arg("name"), py::arg("setup") = -1)
      .def("expect", &expected<Counter, &PermitSetup::expect>)
      .def("expect_more", &expected<Counter, &PermitSetup::expect_more>)
      .def("acquire",
           py::overload_cast<std::int64_t, bool, Duration>(&Counter::acquire, py::const_))
      .def("wait", &Counter::wait)
      .def("call",
           [](const Counter& self, std::string_view step, std::int64_t amount) {
             if (auto operation = self.call(step, amount)) return operation;
             throw py::value_error("this kind of counter has no step of this name: " +
                                   std::string(step));
           })
      .def("value", [](const Counter& self) { return self.value(false); })
      .def("late_value", [](const Counter& self) { return self.value(true); });
}

}  // namespace
}  // namespace counter_steps

namespace permit_semaphore_steps {
namespace {

using engine::PermitSemaphore;

std::shared_ptr<PermitSemaphore> new_semaphore(const std::shared_ptr<engine::Client>& client,
                                               std::string_view word, const py::bytes& name,
                                               std::int64_t setup,
                                               const std::optional<std::string>& label) {
  for (const auto of : sync::kPermitKinds) {
    const sync::PermitKind& kind = of();
    if (kind.word != word) continue;
    return std::make_shared<PermitSemaphore>(client, kind, name_for(*client, name, kind.renewed),
                                             setup, purpose_of(label));
  }
  throw py::value_error("no kind of permits has this name: " + std::string(word));
}

// An acquisition of `amount` permits, which are recorded as those of Python's `semaphore` from now
// on: what keeps them, the exchange that takes them, their ids, and the number of the first.
void add_granting(py::module_& module) {
  const auto granting = [](const PermitSemaphore& self, const py::object& semaphore,
                           std::int64_t amount, bool blocking, Millis lease, bool renewed,
                           std::uint64_t listener, const sync::CallersTime& time,
                           const std::optional<std::string>& label,
                           std::optional<sync::Terms> terms, const py::object& report) {
    events_needed();
    sync::AcquireArguments arguments{next_owner_number(amount), {lease, renewed}};
    arguments.blocking = blocking;
    arguments.listener = listener;
    arguments.amount = amount;
    arguments.callers_time = time;
    arguments.purpose = purpose_of(label);
    arguments.terms = shared_terms(std::move(terms));
    const sync::ExchangePtr acquire = self.acquire(arguments);
    const auto keeping = std::make_shared<sync::Keeping>(acquire);
    py::list ids;
    for (std::int64_t i = 0; i < amount; ++i) {
      const py::str id = hex_of(self.permit(owner_after(arguments.owner, i)));
      expect_permit(semaphore.ptr(), id, report);
      ids.append(id);
    }
    return py::make_tuple(keeping, acquire, ids, arguments.owner);
  };
  module.def("granting", granting);
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
  using engine::PermitSetup;
  py::class_<PermitSemaphore, std::shared_ptr<PermitSemaphore>> type(module, "PermitSemaphore");
  type.def(py::init(&new_semaphore), py::arg("client"), py::arg("word"), py::arg("name"),
           py::arg("setup") = -1, py::arg("label") = py::none())
      .def("idle", &PermitSemaphore::idle)
      .def("release", &PermitSemaphore::release)
      .def("extend", &PermitSemaphore::extend)
      .def("try_set_permits", &PermitSemaphore::try_set_permits)
      .def("release_many", &release_many)
      .def("set_permits", &PermitSemaphore::set_permits)
      .def("add_permits", &PermitSemaphore::add_permits)
      .def("value", [](const PermitSemaphore& self) { return self.value(false); })
      .def("late_value", [](const PermitSemaphore& self) { return self.value(true); })
      .def("permits", &PermitSemaphore::permits)
      .def("acquired_permits", &PermitSemaphore::acquired_permits)
      .def("lease_left", &PermitSemaphore::lease_left)
      .def("known_lost", &PermitSemaphore::known_lost)
      .def("delete", &PermitSemaphore::remove)
      .def("leave", &PermitSemaphore::leave)
      .def("expect", &expected<PermitSemaphore, &PermitSetup::expect>)
      .def("expect_more", &expected<PermitSemaphore, &PermitSetup::expect_more>);
  add_granting(module);
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
