#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bindings/errors.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "engine/counter.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace counter_steps {
namespace {

using engine::Counter;

std::shared_ptr<Counter> new_counter(const std::shared_ptr<engine::Client>& client,
                                     std::string_view word, const py::bytes& name,
                                     std::int64_t setup) {
  const sync::CounterKind* const kind = sync::find_counter_kind(word);
  if (!kind) throw py::value_error("no kind of counter has this name: " + std::string(word));
  return std::make_shared<Counter>(client, *kind, name_for(*client, name, kind->recipe), setup);
}

sync::ExchangePtr call(const Counter& self, std::string_view step, std::int64_t amount) {
  if (auto operation = self.call(step, amount)) return operation;
  throw py::value_error("this kind of counter has no step of this name: " + std::string(step));
}

void add_to(py::module_& module) {
  py::class_<Counter, std::shared_ptr<Counter>>(module, "Counter")
      .def(py::init(&new_counter), py::arg("client"), py::arg("word"), py::arg("name"),
           py::arg("setup") = -1)
      .def("expect", [](const Counter& self, std::int64_t n) { return self.setup().expect(n); })
      .def("expect_more",
           [](const Counter& self, std::int64_t n) { return self.setup().expect_more(n); })
      .def("acquire", &Counter::acquire)
      .def("call", &call)
      .def("value", &Counter::value)
      .def("late_value", &Counter::late_value);
}

}  // namespace
}  // namespace counter_steps

void register_counter(py::module_& module) { counter_steps::add_to(module); }

}  // namespace holdfast::bindings
