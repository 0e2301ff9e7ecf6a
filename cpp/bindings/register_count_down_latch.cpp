#include <memory>
#include <string>
#include <utility>

#include "bindings/errors.h"
#include "bindings/operations.h"
#include "bindings/register.h"
#include "bindings/times.h"
#include "engine/count_down_latch.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

using engine::CountDownLatch;
using Class = py::class_<CountDownLatch, std::shared_ptr<CountDownLatch>>;
using Kind = OperationKind;

sync::ExchangePtr wait(const CountDownLatch& self, double timeout) {
  return self.wait(wait_time(timeout));
}

void register_count_down_latch(py::module_& module) {
  Class latch(module, "CountDownLatch");
  latch.def(py::init([](std::shared_ptr<engine::Client> client, const py::bytes& name) {
    const std::string checked = name_for(*client, name, engine::Client::Use::kLatch);
    return std::make_shared<CountDownLatch>(std::move(client), checked);
  }));
  Operations(latch)
      .add(Kind::kAcquire, "wait", &wait)
      .add(Kind::kCall, "try_set_count", &CountDownLatch::try_set_count)
      .add(Kind::kCall, "count_down", &CountDownLatch::count_down)
      .add(Kind::kCall, "count", &CountDownLatch::count)
      .add(Kind::kCall, "delete", &CountDownLatch::remove);
}

const Registration g_registration(&register_count_down_latch);

}  // namespace

}  // namespace holdfast::bindings
