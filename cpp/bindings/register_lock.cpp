#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>

#include "bindings/pending.h"
#include "bindings/register.h"
#include "bindings/times.h"
#include "bindings/waiting.h"
#include "engine/engine.h"
#include "engine/lock.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

using engine::Lockable;
using Kind = OperationKind;

constexpr double kNanos = 1e9;

// Python's number of an owner; 0 stands for the calling thread.
OwnerNumber owner_of(std::uint64_t number) {
  return number == 0 ? calling_owner() : OwnerNumber{number};
}

// What Python says of an attempt: (owner, blocking, timeout, lease in ms, renewed, listener).
Lockable::Attempt attempt(const py::tuple& said) {
  return {owner_of(said[0].cast<std::uint64_t>()),
          {Millis(said[3].cast<std::int64_t>()), said[4].cast<bool>()},
          said[1].cast<bool>(),
          wait_time(said[2].cast<double>()),
          said[5].cast<std::uint64_t>()};
}

void add_waiting(py::class_<Lockable, std::shared_ptr<Lockable>>& lock) {
  lock.def("acquire",
           [](const Lockable& self, const py::args& said) {
             return wait_for(Kind::kAcquire, self.acquire(attempt(said)));
           })
      .def("release",
           [](const Lockable& self, std::uint64_t owner, bool all) {
             return wait_for(Kind::kRelease, self.release(owner_of(owner), all));
           })
      .def("extend",
           [](const Lockable& self, std::uint64_t owner, std::int64_t lease_ms) {
             return wait_for(Kind::kCall, self.extend(owner_of(owner), Millis(lease_ms)));
           })
      .def("force_release",
           [](const Lockable& self) { return wait_for(Kind::kCall, self.force_release()); })
      .def("locked", [](const Lockable& self) { return wait_for(Kind::kCall, self.locked()); })
      .def("hold_count",
           [](const Lockable& self, std::uint64_t owner) {
             return wait_for(Kind::kCall, self.hold_count(owner_of(owner)));
           })
      .def("ttl", [](const Lockable& self) { return wait_for(Kind::kCall, self.ttl()); });
}

void add_starting(py::class_<Lockable, std::shared_ptr<Lockable>>& lock) {
  lock.def("start_acquire",
           [](const Lockable& self, PendingQueue& queue, const py::args& said) {
             return queue.start(Kind::kAcquire, self.acquire(attempt(said)));
           })
      .def("start_release",
           [](const Lockable& self, PendingQueue& queue, std::uint64_t owner, bool all) {
             return queue.start(Kind::kRelease, self.release(owner_of(owner), all));
           })
      .def("start_extend",
           [](const Lockable& self, PendingQueue& queue, std::uint64_t owner,
              std::int64_t lease_ms) {
             return queue.start(Kind::kCall, self.extend(owner_of(owner), Millis(lease_ms)));
           })
      .def("start_force_release",
           [](const Lockable& self, PendingQueue& queue) {
             return queue.start(Kind::kCall, self.force_release());
           })
      .def("start_locked",
           [](const Lockable& self, PendingQueue& queue) {
             return queue.start(Kind::kCall, self.locked());
           })
      .def("start_hold_count",
           [](const Lockable& self, PendingQueue& queue, std::uint64_t owner) {
             return queue.start(Kind::kCall, self.hold_count(owner_of(owner)));
           })
      .def("start_ttl", [](const Lockable& self, PendingQueue& queue) {
        return queue.start(Kind::kCall, self.ttl());
      });
}

// The operation that Python asks for by a ticket that read_ticket() has found to be one.
sync::ExchangePtr attach(const engine::Lock& self, const std::string& ticket,
                         const py::tuple& heir) {
  return self.attach(sync::parse_ticket(ticket).value(),
                     {OwnerNumber{heir[0].cast<std::uint64_t>()},
                      {Millis(heir[1].cast<std::int64_t>()), heir[2].cast<bool>()},
                      heir[3].cast<std::uint64_t>()});
}

void add_passing_on(py::class_<engine::Lock, Lockable, std::shared_ptr<engine::Lock>>& lock) {
  using engine::Lock;
  lock.def_property_readonly("movable_as", &Lock::movable_as)
      .def("detach",
           [](const Lock& self, std::uint64_t owner, std::int64_t lease_ms) {
             (void)wait_for(Kind::kRelease, self.detach(OwnerNumber{owner}, Millis(lease_ms)));
           })
      .def("start_detach",
           [](const Lock& self, PendingQueue& queue, std::uint64_t owner, std::int64_t lease_ms) {
             return queue.start(Kind::kRelease, self.detach(OwnerNumber{owner}, Millis(lease_ms)));
           })
      .def("ticket",
           [](const Lock& self, std::uint64_t owner) { return self.ticket(OwnerNumber{owner}); })
      .def("end_detach", [](const Lock& self, std::uint64_t owner,
                            bool done) { self.end_detach(OwnerNumber{owner}, done); })
      .def("give_back",
           [](const Lock& self, const std::string& ticket, std::uint64_t owner) {
             self.give_back(sync::parse_ticket(ticket).value(), OwnerNumber{owner});
           })
      .def("attach",
           [](const Lock& self, const std::string& ticket, const py::args& heir) {
             return wait_for(Kind::kAcquire, attach(self, ticket, heir));
           })
      .def("start_attach", [](const Lock& self, PendingQueue& queue, const std::string& ticket,
                              const py::args& heir) {
        return queue.start(Kind::kAcquire, attach(self, ticket, heir));
      });
}

void add_known(py::class_<Lockable, std::shared_ptr<Lockable>>& lock) {
  lock.def("known_count", [](const Lockable& self,
                             std::uint64_t owner) { return self.known_count(owner_of(owner)); })
      .def("known_levels",
           [](const Lockable& self, std::uint64_t owner) {
             py::list leases;
             for (const Lease& lease : self.known_levels(owner_of(owner))) {
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
                            std::uint64_t owner) { return self.known_lost(owner_of(owner)); })
      .def("known_loss",
           [](const Lockable& self, std::uint64_t owner) -> py::object {
             const auto why = self.known_loss(owner_of(owner));
             if (!why) return py::none();
             return py::str(*why);
           })
      .def("forget_listener",
           [](const Lockable& self, std::uint64_t owner, std::uint64_t listener) {
             self.forget_listener(owner_of(owner), listener);
           })
      .def("known_left", [](const Lockable& self, std::uint64_t owner) -> py::object {
        const auto left = self.known_left(owner_of(owner));
        if (!left) return py::none();
        return py::float_(static_cast<double>(left->count()) / kNanos);
      });
}

}  // namespace

void register_lock(py::module_& module) {
  py::class_<Lockable, std::shared_ptr<Lockable>> lock(module, "Lockable");
  add_waiting(lock);
  add_starting(lock);
  add_known(lock);
  py::class_<engine::Lock, Lockable, std::shared_ptr<engine::Lock>> whole(module, "Lock");
  add_passing_on(whole);
  whole.def("same_as", &engine::Lock::same_as)
      .def("known_reads", [](const engine::Lock& self,
                             std::uint64_t owner) { return self.known_reads(owner_of(owner)); })
      .def("known_token", [](const engine::Lock& self, std::uint64_t owner) {
        return self.known_token(owner_of(owner));
      });
}

}  // namespace holdfast::bindings
