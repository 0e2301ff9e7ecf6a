#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/errors.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "engine/client.h"
#include "engine/engine.h"
#include "engine/lock.h"
#include "sync/operation/ticket.h"
#include "sync/recipes/kinds.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace lock_steps {
namespace {

using engine::Lockable;

// A lock's options from Python: (minimum hold time in ms, queue timeout in ms, back-off or None),
// the back-off as first and greatest rest in ms, and by how much it grows.
sync::AcquireOptions options_of(const py::tuple& args) {
  sync::AcquireOptions options;
  options.at_least = args[0].cast<Millis>();
  options.queue_timeout = args[1].cast<Millis>();
  if (!args[2].is_none()) {
    const auto backoff = args[2].cast<py::tuple>();
    options.backoff = {backoff[0].cast<Millis>(), backoff[1].cast<Millis>(),
                       backoff[2].cast<double>()};
  }
  return options;
}

std::shared_ptr<engine::Lock> new_lock(const std::shared_ptr<engine::Client>& client,
                                       std::string_view word, const py::bytes& name,
                                       const py::args& args) {
  // Keys and channels of all kinds are in the slots of the plain lock's.
  const std::string checked = name_for(*client, name, sync::lock_recipe());
  auto lock = engine::new_lock(client, word, checked, options_of(args));
  if (!lock) throw py::value_error("no kind of lock has this name: " + std::string(word));
  return lock;
}

// The arguments of an acquire from Python: (owner, blocking, timeout, lease in ms, renewed,
// listener). `block`: a block begins.
template <bool block>
sync::ExchangePtr acquire(const Lockable& self, const py::args& args) {
  Lockable::AcquireArguments arguments{args[0].cast<OwnerNumber>(),
                                       {args[3].cast<Millis>(), args[4].cast<bool>()},
                                       args[1].cast<bool>(),
                                       args[2].cast<Duration>(),
                                       args[5].cast<std::uint64_t>()};
  arguments.block = block;
  return self.acquire(arguments);
}

// A lease that is set while an attempt is under way would not be known to its grant.
sync::ExchangePtr extend(const Lockable& self, OwnerNumber owner, Millis lease) {
  refuse_inside_acquire(self, owner);
  return self.extend(owner, lease);
}

// The operation for a ticket that read_ticket() has accepted.
sync::ExchangePtr attach(const engine::Lock& self, const std::string& ticket,
                         const py::args& recipient) {
  const sync::AttachOperation::Recipient taking{
      recipient[0].cast<OwnerNumber>(),
      {recipient[1].cast<Millis>(), recipient[2].cast<bool>()},
      recipient[3].cast<std::uint64_t>()};
  return self.attach(sync::parse_ticket(ticket).value(), taking);
}

void give_back(const engine::Lock& self, const std::string& ticket, OwnerNumber owner) {
  self.give_back(sync::parse_ticket(ticket).value(), owner);
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
  py::class_<Lockable, std::shared_ptr<Lockable>>(module, "Lockable")
      .def("acquire", &acquire<false>)
      .def("begin_block", &acquire<true>)
      .def("release", &Lockable::release)
      .def("end_block", &Lockable::end_block)
      .def("release_deferred", &Lockable::release_deferred)
      .def("extend", &extend)
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
      .def("attach", &attach)
      .def("give_back", &give_back)
      .def("same_as", &Lock::same_as)
      .def("known_reads", &Lock::known_reads)
      .def("known_token", &known<&lease::Known::token>)
      .def_property_readonly("waiter", &Lock::waiter)
      .def_property_readonly("movable_as", &Lock::movable_as);
  module.def("new_lock", &new_lock);
}

}  // namespace
}  // namespace lock_steps

void register_lock(py::module_& module) { lock_steps::add_to(module); }

}  // namespace holdfast::bindings
