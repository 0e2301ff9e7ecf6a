#include <cstdint>
#include <memory>
#include <variant>

#include "bindings/errors.h"
#include "bindings/operations.h"
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
using Kind = OperationKind;
using Class = py::class_<PermitSemaphore, std::shared_ptr<PermitSemaphore>>;

// The arguments of an acquire from Python: (number, blocking, timeout, lease in ms, renewed,
// listener, amount).
PermitSemaphore::AcquireArguments arguments(const py::tuple& said) {
  return {OwnerNumber{said[0].cast<std::uint64_t>()},
          {Millis(said[3].cast<std::int64_t>()), said[4].cast<bool>()},
          said[1].cast<bool>(),
          wait_time(said[2].cast<double>()),
          said[5].cast<std::uint64_t>(),
          said[6].cast<std::int64_t>()};
}

sync::ExchangePtr acquire(const PermitSemaphore& self, const py::args& said) {
  return self.acquire(arguments(said));
}

Waitable release(const PermitSemaphore& self, const py::bytes& permit) {
  const PermitSemaphore::PermitRelease release = self.release(permit);
  return {release.renewed ? Kind::kRelease : Kind::kCall, release.operation};
}

PermitSemaphore::Permits permits_in(const py::list& permits) {
  PermitSemaphore::Permits all;
  for (const py::handle permit : permits) all.push_back(permit.cast<std::string>());
  return all;
}

sync::ExchangePtr release_many(const PermitSemaphore& self, const py::list& permits) {
  const auto release = self.release_many(permits_in(permits));
  if (const auto* lost = std::get_if<PermitSemaphore::Lost>(&release)) {
    const auto owner = static_cast<std::uint64_t>(lost->owner);
    const bool gone = lease::cause_of(lost->reason) == Event::Cause::kGone;
    raise(py::module_::import("holdfast._engine.errors")
              .attr("LostPermit")(lost->place, owner, lost->reason, gone));
  }
  return std::get<sync::ExchangePtr>(release);
}

sync::ExchangePtr lease_left(const PermitSemaphore& self, const py::bytes& permit) {
  return self.lease_left(permit);
}

sync::ExchangePtr extend(const PermitSemaphore& self, const py::bytes& permit,
                         std::int64_t lease_ms) {
  return self.extend(permit, Millis(lease_ms));
}

void register_permit_semaphore(py::module_& module) {
  Class semaphore(module, "PermitSemaphore");
  Operations(semaphore)
      .add(Kind::kAcquire, "acquire", &acquire)
      .add("release", &release)
      .add(Kind::kCall, "extend", &extend)
      .add(Kind::kCall, "try_set_permits", &PermitSemaphore::try_set_permits)
      .add(Kind::kCall, "release_many", &release_many)
      .add(Kind::kCall, "set_permits", &PermitSemaphore::set_permits)
      .add(Kind::kCall, "add_permits", &PermitSemaphore::add_permits)
      .add(Kind::kCall, "value", &PermitSemaphore::value)
      .add(Kind::kCall, "late_value", &PermitSemaphore::late_value)
      .add(Kind::kCall, "permits", &PermitSemaphore::permits)
      .add(Kind::kCall, "acquired_permits", &PermitSemaphore::acquired_permits)
      .add(Kind::kCall, "lease_left", &lease_left)
      .add(Kind::kCall, "delete", &PermitSemaphore::remove);
  semaphore
      .def(py::init([](const std::shared_ptr<engine::Client>& client, const py::bytes& name,
                       std::int64_t setup) {
             return std::make_shared<PermitSemaphore>(
                 client, name_for(*client, name, sync::renewed_permit_recipe()), setup);
           }),
           py::arg("client"), py::arg("name"), py::arg("setup") = -1)
      .def("expect",
           [](const PermitSemaphore& self, std::int64_t n) { return self.setup().expect(n); })
      .def("expect_more",
           [](const PermitSemaphore& self, std::int64_t n) { return self.setup().expect_more(n); })
      .def("leave", [](const PermitSemaphore& self, const py::list& permits) {
        self.leave(permits_in(permits));
      });
}

const Registration g_registration(&register_permit_semaphore);

}  // namespace
}  // namespace permit_semaphore_steps

}  // namespace holdfast::bindings
