#include <algorithm>
#include <cerrno>
#include <iterator>

#include "bindings/errors.h"
#include "bindings/members.h"
#include "bindings/observer.h"
#include "bindings/passwords.h"
#include "bindings/pending.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "locks/engine/engine.h"
#include "locks/sync/operation/keeping.h"
#include "redis/base/process.h"
#include "redis/base/thread.h"

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
                        event.reason, event.token, entry->client, event.server, word(event.cause),
                        event.kind_word);
}

void await_end_of_threads(Duration most) {
  const py::gil_scoped_release released;
  engine::Engine::instance().await_end_of_threads(most);
}

std::uint64_t begin_events() { return engine::Engine::instance().events()->begin(); }
void stop_events() { engine::Engine::instance().events()->stop(); }
bool events_running() { return engine::Engine::instance().events()->runs(); }

void await_exit_of(int thread) {
  const py::gil_scoped_release released;
  await_exit(thread);
}

py::object thread_refused() { return exception_for(LimitReached("no thread", EAGAIN)); }

void owner_ended(OwnerNumber owner, const std::string& what) {
  engine::Engine::instance().owner_ended(owner, what);
}

int thread_of(std::uint64_t owner) { return engine::thread_of(OwnerNumber{owner}); }

using sync::Keeping;

std::shared_ptr<Keeping> keeping(const sync::ExchangePtr& acquire) {
  return std::make_shared<Keeping>(acquire);
}

py::object enter_keeping(const Given& given) {
  return py::reinterpret_borrow<py::object>(given.self);
}

// Arguments: type, value, traceback. What failed because close() has given the grant back says so:
// a step that was sent behind that release has met no hold, or no connection.
py::object exit_keeping(const Given& given) {
  auto& keeping = given[0].cast<Keeping&>();
  keeping.leave();
  const bool failed = PyErr_GivenExceptionMatches(given[1].ptr(), PyExc_Exception) != 0;
  if (failed && keeping.closed()) raise_closed(*keeping.acquire());
  return py::none();
}

void keep(Keeping& keeping) {
  if (!keeping.keep()) raise_closed(*keeping.acquire());
}

void begin_use(Keeping& keeping) {
  if (!keeping.begin_use()) raise_closed(*keeping.acquire());
}

}  // namespace

void register_queues(py::module_& module) {
  Members(py::class_<sync::Exchange, sync::ExchangePtr>(module, "Exchange"))
      .method<&wait_for>("wait")
      .method<&loss_of>("loss_of")
      .method<&sync::Exchange::cancel>("give_back");
  Members(py::class_<Keeping, std::shared_ptr<Keeping>>(module, "Keeping"))
      .property<&Keeping::acquire>("acquire")
      .method<&keep>("keep")
      .method<&begin_use>("begin_use")
      .method<&Keeping::end_use>("end_use")
      .property<&Keeping::kept>("kept")
      .method<&Keeping::pass_on>("pass_on")
      .method<&Keeping::undo>("undo")
      .method<&enter_keeping>("__enter__")
      .method<&exit_keeping>("__exit__");
  Members(py::class_<PendingQueue>(module, "PendingQueue"))
      .method<&PendingQueue::fd>("fileno")
      .method<&PendingQueue::start>("start");
  Members(py::class_<NumberedQueue, PendingQueue>(module, "NumberedQueue").def(py::init<>()))
      .method<&NumberedQueue::cancel>("cancel")
      .method<&NumberedQueue::drain>("drain");
  Members(module)
      .def<&keeping>("keeping")
      .def<&next_event>("next_event")
      .def<&begin_events>("begin_events")
      .def<&stop_events>("stop_events")
      .def<&events_running>("events_running")
      .def<&await_end_of_threads>("await_end_of_threads")
      .def<&await_exit_of>("await_exit")
      .def<&begin_exit>("begin_exit")
      .def<&set_greenlets>("set_greenlets")
      .def<&thread_of>("thread_of")
      .def<&thread_refused>("thread_refused")
      .def<&see_out>("see_out")
      .def<&stop_passwords>("stop_passwords")
      .def<&set_observer>("set_observer")
      .def<&next_owner_number>("next_owner")
      .def<&next_owner_numbers>("next_owners")
      .def<&calling_owner>("this_thread")
      .def<&owner_ended>("owner_ended")
      .def<&fork_epoch>("epoch")
      .def<&engine::Engine::set_watchdog_threads>("set_watchdog_threads");
}

}  // namespace holdfast::bindings
