#include <memory>

#include "bindings/errors.h"
#include "bindings/pending.h"
#include "bindings/register.h"
#include "bindings/times.h"
#include "bindings/waiting.h"
#include "engine/semaphore.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

using engine::Semaphore;
using Class = py::class_<Semaphore, std::shared_ptr<Semaphore>>;
using Kind = OperationKind;

void add_waiting(Class& semaphore) {
  semaphore
      .def("acquire",
           [](const Semaphore& self, std::int64_t permits, bool blocking, double timeout) {
             return wait_for(Kind::kAcquire, self.acquire(permits, blocking, wait_time(timeout)));
           })
      .def("release",
           [](const Semaphore& self, std::int64_t permits) {
             return wait_for(Kind::kCall, self.release(permits));
           })
      .def("add_permits",
           [](const Semaphore& self, std::int64_t permits) {
             return wait_for(Kind::kCall, self.add_permits(permits));
           })
      .def("try_set_permits",
           [](const Semaphore& self, std::int64_t permits) {
             return wait_for(Kind::kCall, self.try_set_permits(permits));
           })
      .def("drain_permits",
           [](const Semaphore& self) { return wait_for(Kind::kCall, self.drain_permits()); })
      .def("available_permits",
           [](const Semaphore& self) { return wait_for(Kind::kCall, self.available_permits()); })
      .def("delete", [](const Semaphore& self) { return wait_for(Kind::kCall, self.remove()); });
}

void add_starting(Class& semaphore) {
  semaphore
      .def("start_acquire",
           [](const Semaphore& self, PendingQueue& queue, std::int64_t permits, bool blocking,
              double timeout) {
             return queue.start(Kind::kAcquire,
                                self.acquire(permits, blocking, wait_time(timeout)));
           })
      .def("start_release",
           [](const Semaphore& self, PendingQueue& queue, std::int64_t permits) {
             return queue.start(Kind::kCall, self.release(permits));
           })
      .def("start_add_permits",
           [](const Semaphore& self, PendingQueue& queue, std::int64_t permits) {
             return queue.start(Kind::kCall, self.add_permits(permits));
           })
      .def("start_try_set_permits",
           [](const Semaphore& self, PendingQueue& queue, std::int64_t permits) {
             return queue.start(Kind::kCall, self.try_set_permits(permits));
           })
      .def("start_drain_permits",
           [](const Semaphore& self, PendingQueue& queue) {
             return queue.start(Kind::kCall, self.drain_permits());
           })
      .def("start_available_permits",
           [](const Semaphore& self, PendingQueue& queue) {
             return queue.start(Kind::kCall, self.available_permits());
           })
      .def("start_delete", [](const Semaphore& self, PendingQueue& queue) {
        return queue.start(Kind::kCall, self.remove());
      });
}

}  // namespace

void register_semaphore(py::module_& module) {
  Class semaphore(module, "Semaphore");
  semaphore.def(py::init([](std::shared_ptr<engine::Client> client, const py::bytes& name) {
    const std::string checked = name_for(*client, name);
    return std::make_shared<Semaphore>(std::move(client), checked);
  }));
  add_waiting(semaphore);
  add_starting(semaphore);
}

}  // namespace holdfast::bindings
