#include <pybind11/stl.h>

#include "base/process.h"
#include "bindings/observer.h"
#include "bindings/pending.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "engine/engine.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

const char* word(lease::Event::Kind kind) {
  switch (kind) {
    case lease::Event::Kind::kAbandoned:
      return "abandoned";
    case lease::Event::Kind::kOverlong:
      return "overlong";
    default:
      return "lost";
  }
}

py::object next_event() {
  const std::shared_ptr<engine::EventQueue> events = engine::Engine::instance().events();
  PyThreadState* state = PyEval_SaveThread();
  const std::optional<lease::Event> event = events->next();
  PyEval_RestoreThread(state);
  if (!event) return py::none();
  return py::make_tuple(word(event->kind), py::bytes(event->name), event->owner, event->listeners,
                        event->reason, event->token);
}

}  // namespace

void register_queues(py::module_& module) {
  py::class_<PendingQueue>(module, "PendingQueue")
      .def(py::init<>())
      .def("fileno", &PendingQueue::fd)
      .def("cancel", &PendingQueue::cancel)
      .def("drain", &PendingQueue::drain);

  module.def("next_event", &next_event,
             "Block until there is something to tell: (word, name, owner, listeners, reason, "
             "token); None "
             "after stop_events(). The word is \"lost\", \"abandoned\" or \"overlong\".");
  module.def("stop_events", [] { engine::Engine::instance().events()->stop(); });
  module.def("set_events_running", &set_events_running);
  module.def("begin_exit", &begin_exit);
  module.def("set_greenlets", &set_greenlets);
  module.def("thread_of",
             [](std::uint64_t owner) { return engine::thread_of(OwnerNumber{owner}); });
  py::class_<Waitable>(module, "Waitable")
      .def("start", [](const Waitable& self,
                       PendingQueue& queue) { return queue.start(self.kind, self.operation); })
      .def("give_back", [](const Waitable& self) { self.operation->cancel(); });
  module.def("see_out", &see_out);
  module.def("set_observer", &set_observer);
  module.def("next_owner", [] { return static_cast<std::uint64_t>(next_owner_number()); });
  module.def("this_thread", [] { return static_cast<std::uint64_t>(calling_owner()); });
  module.def("owner_ended", [](std::uint64_t owner, const std::string& what) {
    engine::Engine::instance().owner_ended(OwnerNumber{owner}, what);
  });
  module.def("epoch", &fork_epoch);
  module.def("set_watchdog_threads", &engine::Engine::set_watchdog_threads);
}

}  // namespace holdfast::bindings
