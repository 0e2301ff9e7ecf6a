#include <cstdint>
#include <memory>
#include <variant>

#include "bindings/errors.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "engine/permit_semaphore.h"
#include "lease/hold.h"
#include "sync/recipes/permit_semaphore.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace permit_semaphore_steps {
namespace {

using engine::PermitSemaphore;

// The arguments of an acquire from Python: (number, blocking, timeout, lease in ms, renewed,
// listener, amount).
sync::ExchangePtr acquire(const PermitSemaphore& self, const py::args& args) {
  return self.acquire({args[0].cast<OwnerNumber>(),
                       {args[3].cast<Millis>(), args[4].cast<bool>()},
                       args[1].cast<bool>(),
                       args[2].cast<Duration>(),
                       args[5].cast<std::uint64_t>(),
                       args[6].cast<std::int64_t>()});
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

const Registration g_registration([](py::module_& module) {
  py::class_<PermitSemaphore, std::shared_ptr<PermitSemaphore>>(module, "PermitSemaphore")
      .def("acquire", &acquire)
      .def("release", &PermitSemaphore::release)
      .def("extend", &PermitSemaphore::extend)
      .def("try_set_permits", &PermitSemaphore::try_set_permits)
      .def("release_many", &release_many)
      .def("set_permits", &PermitSemaphore::set_permits)
      .def("add_permits", &PermitSemaphore::add_permits)
      .def("value", &PermitSemaphore::value)
      .def("late_value", &PermitSemaphore::late_value)
      .def("permits", &PermitSemaphore::permits)
      .def("acquired_permits", &PermitSemaphore::acquired_permits)
      .def("lease_left", &PermitSemaphore::lease_left)
      .def("known_lost", &PermitSemaphore::known_lost)
      .def("delete", &PermitSemaphore::remove)
      .def("leave", &PermitSemaphore::leave)
      .def(py::init([](const std::shared_ptr<engine::Client>& client, const py::bytes& name,
                       std::int64_t setup) {
             return std::make_shared<PermitSemaphore>(
                 client, name_for(*client, name, sync::renewed_permit_recipe()), setup);
           }),
           py::arg("client"), py::arg("name"), py::arg("setup") = -1)
      .def("expect",
           [](const PermitSemaphore& self, std::int64_t n) { return self.setup().expect(n); })
      .def("expect_more",
           [](const PermitSemaphore& self, std::int64_t n) { return self.setup().expect_more(n); });
});

}  // namespace
}  // namespace permit_semaphore_steps

}  // namespace holdfast::bindings
