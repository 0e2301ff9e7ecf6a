#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "bindings/errors.h"
#include "bindings/operations.h"
#include "bindings/register.h"
#include "bindings/times.h"
#include "engine/semaphore.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

using engine::Semaphore;
using Class = py::class_<Semaphore, std::shared_ptr<Semaphore>>;
using Kind = OperationKind;

sync::ExchangePtr acquire(const Semaphore& self, std::int64_t permits, bool blocking,
                          double timeout) {
  return self.acquire(permits, blocking, wait_time(timeout));
}

void register_semaphore(py::module_& module) {
  Class semaphore(module, "Semaphore");
  semaphore.def(py::init([](std::shared_ptr<engine::Client> client, const py::bytes& name) {
    const std::string checked = name_for(*client, name);
    return std::make_shared<Semaphore>(std::move(client), checked);
  }));
  Operations(semaphore)
      .add(Kind::kAcquire, "acquire", &acquire)
      .add(Kind::kCall, "release", &Semaphore::release)
      .add(Kind::kCall, "add_permits", &Semaphore::add_permits)
      .add(Kind::kCall, "try_set_permits", &Semaphore::try_set_permits)
      .add(Kind::kCall, "drain_permits", &Semaphore::drain_permits)
      .add(Kind::kCall, "available_permits", &Semaphore::available_permits)
      .add(Kind::kCall, "delete", &Semaphore::remove);
}

const Registration g_registration(&register_semaphore);

}  // namespace

}  // namespace holdfast::bindings
