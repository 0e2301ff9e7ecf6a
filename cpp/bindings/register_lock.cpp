#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/errors.h"
#include "bindings/operations.h"
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
using Kind = OperationKind;

// A lock's options from Python: (minimum hold time in ms, queue timeout in ms, back-off or None),
// the back-off as first and greatest rest in ms, and by how much it grows.
sync::AcquireOptions options_of(const py::tuple& said) {
  sync::AcquireOptions options;
  options.at_least = Millis(said[0].cast<std::int64_t>());
  options.queue_timeout = Millis(said[1].cast<std::int64_t>());
  if (!said[2].is_none()) {
    const auto backoff = said[2].cast<py::tuple>();
    options.backoff = {Millis(backoff[0].cast<std::int64_t>()),
                       Millis(backoff[1].cast<std::int64_t>()), backoff[2].cast<double>()};
  }
  return options;
}

std::shared_ptr<engine::Lock> new_lock(const std::shared_ptr<engine::Client>& client,
                                       std::string_view word, const py::bytes& name,
                                       const py::args& said) {
  // Keys and channels of all kinds are in the slots of the plain lock's.
  const std::string checked = name_for(*client, name, sync::lock_recipe());
  auto lock = engine::new_lock(client, word, checked, options_of(said));
  if (!lock) throw py::value_error("no kind of lock has this name: " + std::string(word));
  return lock;
}

// Python's number of an owner; 0 stands for the calling thread.
OwnerNumber owner_of(std::uint64_t number) {
  return number == 0 ? calling_owner() : OwnerNumber{number};
}

// The arguments of an acquire from Python: (owner, blocking, timeout, lease in ms, renewed,
// listener).
Lockable::AcquireArguments arguments(const py::tuple& said) {
  return {owner_of(said[0].cast<std::uint64_t>()),
          {Millis(said[3].cast<std::int64_t>()), said[4].cast<bool>()},
          said[1].cast<bool>(),
          wait_time(said[2].cast<double>()),
          said[5].cast<std::uint64_t>()};
}

// The same of a block that begins.
sync::ExchangePtr begin_block(const Lockable& self, const py::args& said) {
  Lockable::AcquireArguments entering = arguments(said);
  entering.block = true;
  return self.acquire(entering);
}

sync::ExchangePtr end_block(const Lockable& self, std::uint64_t owner, bool deferred) {
  return self.end_block(owner_of(owner), deferred);
}

sync::ExchangePtr force_release(const Lockable& self, std::uint64_t by) {
  return self.force_release(owner_of(by));
}

sync::ExchangePtr acquire(const Lockable& self, const py::args& said) {
  return self.acquire(arguments(said));
}

sync::ExchangePtr release(const Lockable& self, std::uint64_t owner, bool all) {
  return self.release(owner_of(owner), all);
}

sync::ExchangePtr release_deferred(const Lockable& self, std::uint64_t owner) {
  return self.release_deferred(owner_of(owner));
}

// A lease that is set while an attempt is under way would not be known to its grant.
sync::ExchangePtr extend(const Lockable& self, std::uint64_t owner, std::int64_t lease_ms) {
  const OwnerNumber extending = owner_of(owner);
  refuse_inside_acquire(self, extending);
  return self.extend(extending, Millis(lease_ms));
}

sync::ExchangePtr hold_count(const Lockable& self, std::uint64_t owner) {
  return self.hold_count(owner_of(owner));
}

sync::ExchangePtr detach(const engine::Lock& self, std::uint64_t owner, std::int64_t lease_ms) {
  return self.detach(OwnerNumber{owner}, Millis(lease_ms));
}

// The operation for a ticket that read_ticket() has accepted.
sync::ExchangePtr attach(const engine::Lock& self, const std::string& ticket,
                         const py::args& recipient) {
  const sync::AttachOperation::Recipient taking{
      OwnerNumber{recipient[0].cast<std::uint64_t>()},
      {Millis(recipient[1].cast<std::int64_t>()), recipient[2].cast<bool>()},
      recipient[3].cast<std::uint64_t>()};
  return self.attach(sync::parse_ticket(ticket).value(), taking);
}

void add_passing_on(py::class_<engine::Lock, Lockable, std::shared_ptr<engine::Lock>>& lock) {
  using engine::Lock;
  Operations(lock).add(Kind::kRelease, "detach", &detach).add(Kind::kAcquire, "attach", &attach);
  lock.def_property_readonly("movable_as", &Lock::movable_as)
      .def("end_detach", [](const Lock& self,
                            std::uint64_t owner) { return self.end_detach(OwnerNumber{owner}); })
      .def("give_back", [](const Lock& self, const std::string& ticket, std::uint64_t owner) {
        self.give_back(sync::parse_ticket(ticket).value(), OwnerNumber{owner});
      });
}

void add_known(py::class_<Lockable, std::shared_ptr<Lockable>>& lock) {
  lock.def("known_count", [](const Lockable& self,
                             std::uint64_t owner) { return self.known_count(owner_of(owner)); })
      .def("known_levels",
           [](const Lockable& self, std::uint64_t owner) {
             py::list leases;
             for (const Lease& lease : self.known(owner_of(owner)).levels) {
               leases.append(lease.renewed ? 0 : lease.time.count());
             }
             return leases;
           })
      .def("known_owners",
           [](const Lockable& self) {
             py::list owners;
             for (const auto& [owner, ended] : self.known_owners()) {
               owners.append(py::make_tuple(static_cast<std::uint64_t>(owner), ended));
             }
             return owners;
           })
      .def("known_lost", [](const Lockable& self,
                            std::uint64_t owner) { return self.known(owner_of(owner)).lost; })
      .def("known_loss",
           [](const Lockable& self, std::uint64_t owner) -> py::object {
             const auto why = self.known(owner_of(owner)).loss;
             if (!why) return py::none();
             return py::str(*why);
           })
      .def("forget_listener",
           [](const Lockable& self, std::uint64_t owner, std::uint64_t listener) {
             self.forget_listener(owner_of(owner), listener);
           })
      .def_property_readonly("foreign", &Lockable::foreign)
      .def("known_left", [](const Lockable& self, std::uint64_t owner) -> py::object {
        const auto left = self.known(owner_of(owner)).left;
        if (!left) return py::none();
        return py::float_(static_cast<double>(left->count()) / kNanos);
      });
}

void add_to(py::module_& module) {
  py::class_<Lockable, std::shared_ptr<Lockable>> lock(module, "Lockable");
  Operations(lock)
      .add(Kind::kAcquire, "acquire", &acquire)
      .add(Kind::kAcquire, "begin_block", &begin_block)
      .add(Kind::kRelease, "release", &release)
      .add(Kind::kRelease, "end_block", &end_block)
      .add(Kind::kRelease, "release_deferred", &release_deferred)
      .add(Kind::kCall, "extend", &extend)
      .add(Kind::kCall, "force_release", &force_release)
      .add(Kind::kCall, "locked", &Lockable::locked)
      .add(Kind::kCall, "hold_count", &hold_count)
      .add(Kind::kCall, "ttl", &Lockable::ttl);
  add_known(lock);
  py::class_<engine::Lock, Lockable, std::shared_ptr<engine::Lock>> whole(module, "Lock");
  add_passing_on(whole);
  module.def("new_lock", &new_lock);
  whole.def("same_as", &engine::Lock::same_as)
      .def("known_reads", [](const engine::Lock& self,
                             std::uint64_t owner) { return self.known_reads(owner_of(owner)); })
      .def("known_token", [](const engine::Lock& self, std::uint64_t owner) {
        return self.known(owner_of(owner)).token;
      });
}

}  // namespace
}  // namespace lock_steps

void register_lock(py::module_& module) { lock_steps::add_to(module); }

}  // namespace holdfast::bindings
