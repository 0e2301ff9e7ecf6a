#include "bindings/waiting.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "bindings/critical_section.h"
#include "bindings/errors.h"
#include "bindings/observer.h"
#include "bindings/passwords.h"
#include "locks/locks.h"
#include "redis/base/process.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

// Takes the GIL for a moment to run Python's signal handlers. Only the main thread can.
class Signals final : public sync::Interrupt {
 public:
  explicit Signals(PyThreadState*& state) : state_(state) {}

  bool pending() override {
    PyEval_RestoreThread(state_);
    const bool raised = PyErr_CheckSignals() != 0;
    state_ = PyEval_SaveThread();
    return raised;
  }

 private:
  PyThreadState*& state_;
};

std::atomic<int> g_inside{0};

// A child does not have its parent's waiting threads.
const bool g_registered = (call_in_child([] { g_inside.store(0); }), true);

bool on_main_thread() {
  // After fork() the thread that called it is the child's main thread.
  thread_local std::uint64_t known = 0;
  thread_local bool main = false;
  if (const std::uint64_t epoch = fork_epoch(); known != epoch) {
    known = epoch;
    main = holdfast::on_main_thread();
  }
  return main;
}

std::atomic<bool> g_exiting{false};

// The functions of holdfast._engine.greenlets, once gevent has patched; never freed.
Shared<PyObject*> g_greenlet_wait{nullptr};
Shared<PyObject*> g_greenlet_owner{nullptr};

// Whether the caller may be a greenlet; checked before each wait, since a program may patch late.
bool greenlets() {
  if (g_exiting.load()) return false;  // modules may be gone already
  if (g_greenlet_wait != nullptr) return true;
  static KeptObject monkey;
  const py::handle name = monkey.interned("gevent.monkey");
  if (PyDict_Contains(PyImport_GetModuleDict(), name.ptr()) != 1) return false;
  py::module_::import("holdfast._engine.greenlets").attr("install")();
  return g_greenlet_wait != nullptr;
}

// pybind11 keeps the top of FramesAside's stack to itself; an explicit instantiation may name it.
using Frame = py::detail::loader_life_support;
using TopOfFrames = Frame*& (*)();
template <TopOfFrames function>
struct Opened {
  friend Frame*& top_of_frames() { return function(); }
};
template struct Opened<&Frame::tls_current_frame>;
Frame*& top_of_frames();

}  // namespace

FramesAside::FramesAside() : top_(std::exchange(top_of_frames(), nullptr)) {}

FramesAside::~FramesAside() { top_of_frames() = static_cast<Frame*>(top_); }

OwnerNumber calling_owner() {
  if (greenlets()) {
    PyObject* const owner = g_greenlet_owner;
    const py::object number = py::handle(owner)();
    if (const auto own = number.cast<std::uint64_t>(); own != 0) return OwnerNumber{own};
  }
  return engine::current_thread_owner();
}

bool runs_event_loop() {
  if (g_exiting.load()) return false;
  static KeptObject asyncio;
  static KeptObject running_loop;
  const py::handle function = running_loop.get([] {
    const py::object module = item_of(PyImport_GetModuleDict(), asyncio.interned("_asyncio"));
    return module ? py::object(module.attr("_get_running_loop")) : py::object();
  });
  if (!function) return false;  // the program has not imported asyncio
  PyObject* const loop = PyObject_CallNoArgs(function.ptr());
  if (loop == nullptr) throw py::error_already_set();
  Py_DECREF(loop);
  return loop != Py_None;
}

void begin_exit() {
  g_exiting.store(true);
  engine::Guarded::keep_at_exit();
}

bool exiting() { return g_exiting.load() && !on_main_thread(); }

void set_greenlets(const py::object& wait, const py::object& owner) {
  g_greenlet_owner = owner.inc_ref().ptr();
  g_greenlet_wait = wait.inc_ref().ptr();  // last: other threads look at it first
}

namespace {

// Waits without the GIL. Nothing: a signal handler has raised.
std::optional<sync::Outcome> without_gil(bool main, sync::Exchange& exchange) {
  // Not by a guard object: at the interpreter's end taking the GIL ends the thread, which must not
  // happen inside a destructor.
  g_inside.fetch_add(1);
  PyThreadState* state = PyEval_SaveThread();
  Signals signals(state);
  std::optional<sync::Outcome> outcome;
  std::exception_ptr thrown;  // no memory, threads or descriptors
  try {
    outcome = exchange.wait(main ? &signals : nullptr);
  } catch (...) {
    thrown = std::current_exception();
  }
  // The interpreter ends: then a thread must not come back.
  const bool stays = g_exiting.load() && exiting();
  if (!stays) PyEval_RestoreThread(state);
  g_inside.fetch_sub(1);
  while (stays) ::pause();
  if (thrown) std::rethrow_exception(thrown);
  return outcome;
}

py::object wait_on_thread(sync::Exchange& exchange) {
  const bool main = on_main_thread();
  Observation observation(exchange);
  const std::optional<sync::Outcome> outcome = without_gil(main, exchange);
  if (!outcome || (main && PyErr_CheckSignals() != 0)) {
    py::error_already_set interrupt;
    // The caller will never see the outcome, if there is one: a grant is given back.
    if (outcome) exchange.cancel();
    observation.cancelled(exchange);
    throw interrupt;
  }
  try {
    observation.ended(exchange, *outcome);
  } catch (...) {
    exchange.cancel();
    throw;
  }
  const PythonOutcome result = to_python(exchange, *outcome);
  if (result.exception) raise(result.exception);
  return result.value;
}

}  // namespace

py::object wait_for(const sync::ExchangePtr& operation) {
  (void)greenlets();
  return wait_as_owner(operation);
}

py::object wait_as_owner(const sync::ExchangePtr& operation) {
  PyObject* const greenlet_wait = g_greenlet_wait;
  std::optional<FramesAside> aside;  // also for what explain() asks a server
  if (greenlet_wait != nullptr) aside.emplace();
  try {
    if (greenlet_wait != nullptr && !g_exiting.load()) {
      py::object answer = py::handle(greenlet_wait)(py::cast(operation));
      if (!answer.is(py::handle(Py_NotImplemented))) return answer;
    }
    return wait_on_thread(*operation);
  } catch (py::error_already_set& error) {
    explain(error, *operation);
    throw;
  }
}

void refuse_inside_acquire(const engine::Lockable& lock, OwnerNumber owner) {
  const Status refused = lock.may_use(owner);
  if (!refused.ok()) raise(exception_for(refused));
}

void start_events() { py::module_::import("holdfast._engine.events").attr("start")(); }

void see_out(double seconds) {
  (void)g_registered;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  PyThreadState* state = PyEval_SaveThread();
  while ((g_inside.load() > 0 || passwords_requested() > 0) &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  PyEval_RestoreThread(state);
}

}  // namespace holdfast::bindings
