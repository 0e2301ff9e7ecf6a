#include <memory>
#include <string>

#include "bindings/errors.h"
#include "bindings/pending.h"
#include "bindings/register.h"
#include "bindings/times.h"
#include "bindings/waiting.h"
#include "engine/permit_semaphore.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

using engine::PermitSemaphore;
using Kind = OperationKind;
using Class = py::class_<PermitSemaphore, std::shared_ptr<PermitSemaphore>>;

// What Python says of an attempt: (number, blocking, timeout, lease in ms, renewed, listener).
PermitSemaphore::Attempt attempt(const py::tuple& said) {
  return {OwnerNumber{said[0].cast<std::uint64_t>()},
          {Millis(said[3].cast<std::int64_t>()), said[4].cast<bool>()},
          said[1].cast<bool>(),
          wait_time(said[2].cast<double>()),
          said[5].cast<std::uint64_t>()};
}

Kind kind_of(const PermitSemaphore::Release& release) {
  return release.renewed ? Kind::kRelease : Kind::kCall;
}

void add_waiting(Class& semaphore) {
  semaphore
      .def("acquire",
           [](const PermitSemaphore& self, const py::args& said) {
             return wait_for(Kind::kAcquire, self.acquire(attempt(said)));
           })
      .def("release",
           [](const PermitSemaphore& self, const py::bytes& permit) {
             const PermitSemaphore::Release release = self.release(permit);
             return wait_for(kind_of(release), release.operation);
           })
      .def("extend",
           [](const PermitSemaphore& self, const py::bytes& permit, std::int64_t lease_ms) {
             return wait_for(Kind::kCall, self.extend(permit, Millis(lease_ms)));
           })
      .def("try_set_permits",
           [](const PermitSemaphore& self, std::int64_t permits) {
             return wait_for(Kind::kCall, self.try_set_permits(permits));
           })
      .def("available_permits",
           [](const PermitSemaphore& self) {
             return wait_for(Kind::kCall, self.available_permits());
           })
      .def("delete",
           [](const PermitSemaphore& self) { return wait_for(Kind::kCall, self.remove()); });
}

void add_starting(Class& semaphore) {
  semaphore
      .def("start_acquire",
           [](const PermitSemaphore& self, PendingQueue& queue, const py::args& said) {
             return queue.start(Kind::kAcquire, self.acquire(attempt(said)));
           })
      .def("start_release",
           [](const PermitSemaphore& self, PendingQueue& queue, const py::bytes& permit) {
             const PermitSemaphore::Release release = self.release(permit);
             return queue.start(kind_of(release), release.operation);
           })
      .def("start_extend",
           [](const PermitSemaphore& self, PendingQueue& queue, const py::bytes& permit,
              std::int64_t lease_ms) {
             return queue.start(Kind::kCall, self.extend(permit, Millis(lease_ms)));
           })
      .def("start_try_set_permits",
           [](const PermitSemaphore& self, PendingQueue& queue, std::int64_t permits) {
             return queue.start(Kind::kCall, self.try_set_permits(permits));
           })
      .def("start_available_permits",
           [](const PermitSemaphore& self, PendingQueue& queue) {
             return queue.start(Kind::kCall, self.available_permits());
           })
      .def("start_delete", [](const PermitSemaphore& self, PendingQueue& queue) {
        return queue.start(Kind::kCall, self.remove());
      });
}

}  // namespace

void register_permit_semaphore(py::module_& module) {
  Class semaphore(module, "PermitSemaphore");
  add_waiting(semaphore);
  add_starting(semaphore);
  semaphore
      .def(py::init([](const std::shared_ptr<engine::Client>& client, const py::bytes& name) {
        return std::make_shared<PermitSemaphore>(client, name_for(*client, name));
      }))
      .def("permit", [](const PermitSemaphore& self, std::uint64_t number) {
        return py::bytes(self.permit(OwnerNumber{number}));
      });
}

}  // namespace holdfast::bindings
