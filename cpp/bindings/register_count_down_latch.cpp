#include <memory>

#include "bindings/errors.h"
#include "bindings/pending.h"
#include "bindings/register.h"
#include "bindings/times.h"
#include "bindings/waiting.h"
#include "engine/count_down_latch.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

using engine::CountDownLatch;
using Class = py::class_<CountDownLatch, std::shared_ptr<CountDownLatch>>;
using Kind = OperationKind;

void add_waiting(Class& latch) {
  latch
      .def("wait",
           [](const CountDownLatch& self, double timeout) {
             return wait_for(Kind::kAcquire, self.wait(wait_time(timeout)));
           })
      .def("try_set_count",
           [](const CountDownLatch& self, std::int64_t count) {
             return wait_for(Kind::kCall, self.try_set_count(count));
           })
      .def("count_down",
           [](const CountDownLatch& self) { return wait_for(Kind::kCall, self.count_down()); })
      .def("count", [](const CountDownLatch& self) { return wait_for(Kind::kCall, self.count()); })
      .def("delete",
           [](const CountDownLatch& self) { return wait_for(Kind::kCall, self.remove()); });
}

void add_starting(Class& latch) {
  latch
      .def("start_wait",
           [](const CountDownLatch& self, PendingQueue& queue, double timeout) {
             return queue.start(Kind::kAcquire, self.wait(wait_time(timeout)));
           })
      .def("start_try_set_count",
           [](const CountDownLatch& self, PendingQueue& queue, std::int64_t count) {
             return queue.start(Kind::kCall, self.try_set_count(count));
           })
      .def("start_count_down",
           [](const CountDownLatch& self, PendingQueue& queue) {
             return queue.start(Kind::kCall, self.count_down());
           })
      .def("start_count",
           [](const CountDownLatch& self, PendingQueue& queue) {
             return queue.start(Kind::kCall, self.count());
           })
      .def("start_delete", [](const CountDownLatch& self, PendingQueue& queue) {
        return queue.start(Kind::kCall, self.remove());
      });
}

}  // namespace

void register_count_down_latch(py::module_& module) {
  Class latch(module, "CountDownLatch");
  latch.def(py::init([](std::shared_ptr<engine::Client> client, const py::bytes& name) {
    const std::string checked = name_for(*client, name, engine::Client::Use::kLatch);
    return std::make_shared<CountDownLatch>(std::move(client), checked);
  }));
  add_waiting(latch);
  add_starting(latch);
}

}  // namespace holdfast::bindings
