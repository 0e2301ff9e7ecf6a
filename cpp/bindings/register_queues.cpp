#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/process.h"
#include "base/thread.h"
#include "bindings/observer.h"
#include "bindings/pending.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "engine/engine.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

struct Word {
  Event::Kind kind;
  const char* text;
};

constexpr Word kWords[] = {{Event::Kind::kLost, "lost"},
                           {Event::Kind::kLostAfterRelease, "lost_late"},
                           {Event::Kind::kReleased, "released"},
                           {Event::Kind::kUnreleased, "unreleased"},
                           {Event::Kind::kAbandoned, "abandoned"},
                           {Event::Kind::kOverlong, "overlong"},
                           {Event::Kind::kForeign, "foreign"},
                           {Event::Kind::kPermits, "permits"},
                           {Event::Kind::kProtocolError, "protocol_error"},
                           {Event::Kind::kUnguarded, "unguarded"},
                           {Event::Kind::kUnlabelled, "unlabelled"},
                           {Event::Kind::kNotRenewed, "not_renewed"},
                           {Event::Kind::kResolved, "resolved"},
                           {Event::Kind::kClosed, "closed"}};

const char* word(Event::Kind kind) {
  const auto* const found = std::find_if(std::begin(kWords), std::end(kWords),
                                         [kind](const Word& each) { return each.kind == kind; });
  return found->text;
}

const char* word(Event::Cause cause) {
  switch (cause) {
    case Event::Cause::kGone:
      return "gone";
    case Event::Cause::kLeaseOver:
      return "lease_over";
    case Event::Cause::kClosed:
      return "closed";
    case Event::Cause::kOther:
      break;
  }
  return "other";
}

py::object next_event(std::uint64_t run) {
  const std::shared_ptr<engine::EventQueue> events = engine::Engine::instance().events();
  PyThreadState* state = PyEval_SaveThread();
  const std::optional<engine::EventQueue::Entry> entry = events->next(run);
  PyEval_RestoreThread(state);
  if (!entry) return py::none();
  const Event& event = entry->event;
  return py::make_tuple(word(event.kind), py::bytes(event.name), event.owner, event.listeners,
                        event.reason, event.token, entry->client, event.server, word(event.cause));
}

void await_end_of_threads(Duration most) {
  const py::gil_scoped_release released;
  engine::Engine::instance().await_end_of_threads(most);
}

}  // namespace

void register_queues(py::module_& module) {
  py::class_<sync::Exchange, sync::ExchangePtr>(module, "Exchange")
      .def("wait", &wait_for)
      .def("start",
           [](const sync::ExchangePtr& self, PendingQueue& queue) { return queue.start(self); })
      .def("give_back", &sync::Exchange::cancel);
  py::class_<PendingQueue>(module, "PendingQueue").def("fileno", &PendingQueue::fd);
  py::class_<NumberedQueue, PendingQueue>(module, "NumberedQueue")
      .def(py::init<>())
      .def("cancel", &NumberedQueue::cancel)
      .def("drain", &NumberedQueue::drain);

  module.def("next_event", &next_event);
  module.def("begin_events", [] { return engine::Engine::instance().events()->begin(); });
  module.def("stop_events", [] { engine::Engine::instance().events()->stop(); });
  module.def("events_running", [] { return engine::Engine::instance().events()->runs(); });
  module.def("await_end_of_threads", &await_end_of_threads);
  module.def("await_exit", &await_exit, py::call_guard<py::gil_scoped_release>());
  module.def("begin_exit", &begin_exit);
  module.def("set_greenlets", &set_greenlets);
  module.def("thread_of",
             [](std::uint64_t owner) { return engine::thread_of(OwnerNumber{owner}); });
  module.def("thread_refused", [] { return exception_for(LimitReached("no thread", EAGAIN)); });
  module.def("see_out", &see_out);
  module.def("set_observer", &set_observer);
  module.def("next_owner", &next_owner_number);
  module.def("next_owners", &next_owner_numbers);
  module.def("this_thread", &calling_owner);
  module.def("owner_ended", [](OwnerNumber owner, const std::string& what) {
    engine::Engine::instance().owner_ended(owner, what);
  });
  module.def("epoch", &fork_epoch);
  module.def("set_watchdog_threads", &engine::Engine::set_watchdog_threads);
}

}  // namespace holdfast::bindings
