#include "bindings/waiting.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "base/process.h"
#include "bindings/observer.h"
#include "bindings/passwords.h"
#include "engine/engine.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

// Takes the GIL for a moment to run Python's signal handlers. Only the main thread can.
class Signals final : public sync::Interrupt {
 public:
  explicit Signals(PyThreadState*& state) : state_(state) {}

  bool pending() override {
    PyEval_RestoreThread(state_);
    raised_ = PyErr_CheckSignals() != 0;
    state_ = PyEval_SaveThread();
    return raised_;
  }
  bool raised() const { return raised_; }

 private:
  PyThreadState*& state_;
  bool raised_ = false;
};

std::atomic<int> g_inside{0};

// In which the thread of holdfast._events was started; 0: in none.
std::atomic<std::uint64_t> g_events_epoch{0};

// The threads that a parent had inside are not in its child.
const bool g_registered = (call_in_child([] { g_inside.store(0); }), true);

bool on_main_thread() {
  // After fork() the thread that called it is the child's main thread.
  thread_local std::uint64_t known = 0;
  thread_local bool main = false;
  if (const std::uint64_t epoch = fork_epoch(); known != epoch) {
    known = epoch;
    main = ::syscall(SYS_gettid) == ::getpid();
  }
  return main;
}

std::atomic<bool> g_exiting{false};

// Of holdfast._greenlets, once gevent has patched; with the GIL held, never freed.
PyObject* g_greenlet_wait = nullptr;
PyObject* g_greenlet_owner = nullptr;

// A module that has been imported by somebody; borrowed, null: it has not.
PyObject* imported(PyObject* name) {
  return PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
}

// Whether greenlets may be about; asked before each wait, as a program may patch late.
bool greenlets() {
  if (g_exiting.load()) return false;  // modules may be gone already
  if (g_greenlet_wait != nullptr) return true;
  static PyObject* const monkey = PyUnicode_InternFromString("gevent.monkey");
  if (imported(monkey) == nullptr) return false;
  py::module_::import("holdfast._greenlets").attr("install")();
  return g_greenlet_wait != nullptr;
}

}  // namespace

OwnerNumber calling_owner() {
  if (greenlets()) {
    const py::object number = py::handle(g_greenlet_owner)();
    if (const auto own = number.cast<std::uint64_t>(); own != 0) return OwnerNumber{own};
  }
  return engine::current_thread_owner();
}

bool runs_event_loop() {
  if (g_exiting.load()) return false;
  static PyObject* const asyncio = PyUnicode_InternFromString("_asyncio");
  static PyObject* ask = nullptr;
  if (ask == nullptr) {
    PyObject* const module = imported(asyncio);
    if (module == nullptr) return false;
    ask = py::object(py::handle(module).attr("_get_running_loop")).release().ptr();
  }
  return !py::handle(ask)().is_none();
}

void begin_exit() { g_exiting.store(true); }

bool exiting() { return g_exiting.load() && !on_main_thread(); }

void set_greenlets(const py::object& wait, const py::object& owner) {
  g_greenlet_wait = wait.inc_ref().ptr();
  g_greenlet_owner = owner.inc_ref().ptr();
}

namespace {

// Takes the GIL again, unless the interpreter ends: then a thread must not come back.
void return_from_wait(PyThreadState* state) {
  const bool stays = exiting();
  if (!stays) PyEval_RestoreThread(state);
  g_inside.fetch_sub(1);
  while (stays) ::pause();
}

py::object wait_on_thread(OperationKind kind, const sync::ExchangePtr& operation) {
  // Not by a guard object: at the interpreter's end taking the GIL ends the thread, which must not
  // happen inside a destructor.
  const bool main = on_main_thread();
  Observation observation(kind, *operation);
  g_inside.fetch_add(1);
  PyThreadState* state = PyEval_SaveThread();
  Signals signals(state);
  std::optional<sync::Outcome> outcome;
  std::exception_ptr thrown;  // for want of memory, threads or descriptors
  try {
    outcome = operation->wait(main ? &signals : nullptr);
  } catch (...) {
    thrown = std::current_exception();
  }
  return_from_wait(state);
  if (thrown) std::rethrow_exception(thrown);
  if (!outcome || (main && PyErr_CheckSignals() != 0)) {
    py::error_already_set interrupt;
    // The caller will never see the outcome, if there is one: a grant is given back.
    if (outcome) operation->cancel();
    observation.cancelled(*operation);
    throw interrupt;
  }
  try {
    observation.ended(*operation, *outcome);
  } catch (...) {
    operation->cancel();
    throw;
  }
  const PythonOutcome result = to_python(kind, operation->name().bytes(), *outcome);
  if (result.exception) raise(result.exception);
  return result.value;
}

}  // namespace

py::object wait_for(OperationKind kind, const sync::ExchangePtr& operation) {
  if (greenlets()) {
    py::object answer = py::handle(g_greenlet_wait)(Waitable{kind, operation});
    if (!answer.is(py::handle(Py_NotImplemented))) return answer;
  }
  return wait_on_thread(kind, operation);
}

void events_needed() {
  if (g_events_epoch.load(std::memory_order_relaxed) != fork_epoch()) {
    py::module_::import("holdfast._events").attr("start")();
  }
}

void set_events_running(bool running) { g_events_epoch.store(running ? fork_epoch() : 0); }

void see_out(double seconds) {
  (void)g_registered;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  PyThreadState* state = PyEval_SaveThread();
  while ((g_inside.load() > 0 || passwords_asked() > 0) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  PyEval_RestoreThread(state);
}

}  // namespace holdfast::bindings
