#include <pybind11/stl.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/register.h"
#include "engine/quorum.h"
#include "sync/quorum/quorum_round.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

using engine::Lock;
using engine::Quorum;
using Members = std::vector<std::shared_ptr<Lock>>;

std::shared_ptr<Quorum> quorum(const Members& members, Quorum::Rule rule, const py::bytes& name) {
  return std::make_shared<Quorum>(Quorum::Members(members.begin(), members.end()), rule,
                                  std::string(name));
}

}  // namespace

void register_quorum(py::module_& module) {
  const py::class_<Quorum, engine::Lockable, std::shared_ptr<Quorum>> type(module, "Quorum");
  module.def("multi_lock", [](const Members& members, const py::bytes& name) {
    return quorum(members, &sync::multi_lock_rule, name);
  });
  module.def("red_lock", [](const Members& members, const py::bytes& name) {
    return quorum(members, &sync::red_lock_rule, name);
  });
}

}  // namespace holdfast::bindings
