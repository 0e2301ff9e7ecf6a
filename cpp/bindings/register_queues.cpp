#include <algorithm>
#include <cerrno>
#include <iterator>

#include "bindings/conversions.h"
#include "bindings/errors.h"
#include "bindings/observer.h"
#include "bindings/passwords.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "locks/locks.h"
#include "redis/base/process.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

using engine::Engine;

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
  const std::shared_ptr<engine::EventQueue> events = Engine::instance().events();
  PyThreadState* state = PyEval_SaveThread();
  const std::optional<engine::EventQueue::Entry> entry = events->next(run);
  PyEval_RestoreThread(state);
  if (!entry) return py::none();
  const Event& event = entry->event;
  const auto* const found = std::find_if(std::begin(kWords), std::end(kWords),
                                         [&](const Word& each) { return each.kind == event.kind; });
  return py::make_tuple(found->text, py::bytes(event.name), event.owner, event.listeners,
                        event.reason, event.token, entry->client, event.server, word(event.cause),
                        event.kind_word);
}

using sync::Keeping;

// A failure because close() has given the grant back says so: a step that was sent behind that
// release has met no hold, or no connection.
void exit_keeping(Keeping& keeping, const py::object& type, const py::object& /*value*/,
                  const py::object& /*traceback*/) {
  keeping.leave();
  const bool failed = PyErr_GivenExceptionMatches(type.ptr(), PyExc_Exception) != 0;
  if (failed && keeping.closed()) raise_closed(*keeping.acquire);
}

}  // namespace

void register_queues(py::module_& module) {
  py::class_<sync::Exchange, sync::ExchangePtr>(module, "Exchange")
      .def("wait", &wait_for)
      .def("loss_of", &loss_of)
      .def("give_back", &sync::Exchange::cancel);
  py::class_<Keeping, std::shared_ptr<Keeping>>(module, "Keeping")
      .def_readonly("acquire", &Keeping::acquire)
      .def("keep",
           [](Keeping& keeping) {
             if (!keeping.keep()) raise_closed(*keeping.acquire);
           })
      .def("begin_use",
           [](Keeping& keeping) {
             if (!keeping.use(true)) raise_closed(*keeping.acquire);
           })
      .def("end_use", [](Keeping& keeping) { (void)keeping.use(false); })
      .def_property_readonly("kept", &Keeping::kept)
      .def("pass_on", &Keeping::pass_on)
      .def("undo", &Keeping::undo)
      .def("__enter__", [](const py::object& self) { return self; })
      .def("__exit__", &exit_keeping);
  module.def("next_event", &next_event)
      .def("begin_events", [] { return Engine::instance().events()->begin(); })
      .def("stop_events", [] { Engine::instance().events()->stop(); })
      .def("events_running", [] { return Engine::instance().events()->runs(); })
      .def("await_end_of_threads",
           [](Duration most) {
             const py::gil_scoped_release released;
             Engine::instance().await_end_of_threads(most);
           })
      .def("await_exit",
           [](int thread) {
             const py::gil_scoped_release released;
             await_exit(thread);
           })
      .def("begin_exit", &begin_exit)
      .def("set_greenlets", &set_greenlets)
      .def("thread_of", [](std::uint64_t owner) { return engine::thread_of(OwnerNumber{owner}); })
      .def("thread_refused", [] { return exception_for(LimitReached("no thread", EAGAIN)); })
      .def("see_out", &see_out)
      .def("stop_passwords", &stop_passwords)
      .def("set_observer", &set_observer)
      .def("next_owner", [] { return next_owner_number(); })
      .def("next_owners", &next_owner_number)
      .def("this_thread", &calling_owner)
      .def("owner_ended",
           [](OwnerNumber owner, const std::string& what) {
             Engine::instance().owner_ended(owner, what);
           })
      .def("epoch", &fork_epoch)
      .def("set_watchdog_threads", &Engine::set_watchdog_threads);
}

}  // namespace holdfast::bindings
