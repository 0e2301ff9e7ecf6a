#include "bindings/waiting.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "base/process.h"
#include "base/thread.h"
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

// A child does not have its parent's waiting threads.
const bool g_registered = (call_in_child([] { g_inside.store(0); }), true);

bool on_main_thread() {
  // After fork() the thread that called it is the child's main thread.
  thread_local std::uint64_t known = 0;
  thread_local bool main = false;
  if (const std::uint64_t epoch = fork_epoch(); known != epoch) {
    known = epoch;
    main = this_thread_id() == ::getpid();
  }
  return main;
}

std::atomic<bool> g_exiting{false};

// Of holdfast._greenlets, once gevent has patched; with the GIL held, never freed.
PyObject* g_greenlet_wait = nullptr;
PyObject* g_greenlet_owner = nullptr;

// A borrowed reference to a module that has been imported; null: it has not.
PyObject* imported(PyObject* name) {
  return PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
}

// Whether the caller may be a greenlet; checked before each wait, since a program may patch late.
bool greenlets() {
  if (g_exiting.load()) return false;  // modules may be gone already
  if (g_greenlet_wait != nullptr) return true;
  static PyObject* const monkey = PyUnicode_InternFromString("gevent.monkey");
  if (imported(monkey) == nullptr) return false;
  py::module_::import("holdfast._greenlets").attr("install")();
  return g_greenlet_wait != nullptr;
}

// pybind11 keeps the bound functions that run on a thread as a stack, and aborts the process when
// they end in another order, as those of greenlets do. It keeps the top to itself; an explicit
// instantiation may name it.
using Frame = py::detail::loader_life_support;
using TopOfFrames = Frame*& (*)();
template <TopOfFrames function>
struct Opened {
  friend Frame*& top_of_frames() { return function(); }
};
template struct Opened<&Frame::tls_current_frame>;
Frame*& top_of_frames();

// While it exists, other greenlets do not see the bound functions below on the thread's stack.
class FramesAside {
 public:
  FramesAside() : top_(std::exchange(top_of_frames(), nullptr)) {}
  ~FramesAside() { top_of_frames() = top_; }
  FramesAside(const FramesAside&) = delete;
  FramesAside& operator=(const FramesAside&) = delete;

 private:
  Frame* const top_;
};

py::object wait_in_greenlet(OperationKind kind, const sync::ExchangePtr& operation) {
  const py::object waitable = py::cast(Waitable{kind, operation});
  const FramesAside aside;
  return py::handle(g_greenlet_wait)(waitable);
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
  PyObject* const loop = PyObject_CallNoArgs(ask);
  if (loop == nullptr) throw py::error_already_set();
  Py_DECREF(loop);
  return loop != Py_None;
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

// Calls `wait` without the GIL.
template <typename Wait>
sync::Waited without_gil(bool main, const Wait& wait) {
  // Not by a guard object: at the interpreter's end taking the GIL ends the thread, which must not
  // happen inside a destructor.
  g_inside.fetch_add(1);
  PyThreadState* state = PyEval_SaveThread();
  Signals signals(state);
  sync::Waited waited;
  std::exception_ptr thrown;  // no memory, threads or descriptors
  try {
    waited = wait(main ? &signals : nullptr);
  } catch (...) {
    thrown = std::current_exception();
  }
  return_from_wait(state);
  if (thrown) std::rethrow_exception(thrown);
  return waited;
}

// The outcome of an exchange, for its caller.
py::object conclude(OperationKind kind, const sync::Waited& waited, bool main,
                    Observation& observation) {
  sync::Exchange& exchange = *waited.exchange;
  if (!waited.outcome || (main && PyErr_CheckSignals() != 0)) {
    py::error_already_set interrupt;
    // The caller will never see the outcome, if there is one: a grant is given back.
    if (waited.outcome) exchange.cancel();
    observation.cancelled(exchange);
    throw interrupt;
  }
  try {
    observation.ended(exchange, *waited.outcome);
  } catch (...) {
    exchange.cancel();
    throw;
  }
  const PythonOutcome result = to_python(kind, exchange.name().bytes(), *waited.outcome);
  if (result.exception) raise(result.exception);
  return result.value;
}

py::object wait_on_thread(OperationKind kind, const sync::ExchangePtr& operation) {
  const bool main = on_main_thread();
  Observation observation(kind, *operation);
  const sync::Waited waited = without_gil(main, [&operation](sync::Interrupt* interrupt) {
    return sync::Waited{operation, operation->wait(interrupt)};
  });
  return conclude(kind, waited, main, observation);
}

// With an observer, or in a greenlet, there is no plain path.
bool may_be_plain() { return !Observation::wanted() && !greenlets(); }

}  // namespace

py::object wait_for(OperationKind kind, const sync::ExchangePtr& operation) {
  if (greenlets()) {
    py::object answer = wait_in_greenlet(kind, operation);
    if (!answer.is(py::handle(Py_NotImplemented))) return answer;
  }
  return wait_on_thread(kind, operation);
}

bool wait_to_acquire(const engine::Lockable& lock, const engine::Lockable::Attempt& attempt) {
  constexpr auto kKind = OperationKind::kAcquire;
  if (!may_be_plain()) return wait_for(kKind, lock.acquire(attempt)).is(py::bool_(true));
  const bool main = on_main_thread();
  const sync::Waited waited = without_gil(
      main, [&](sync::Interrupt* interrupt) { return lock.acquire_and_wait(attempt, interrupt); });
  Observation none;
  if (waited.exchange) return conclude(kKind, waited, main, none).is(py::bool_(true));
  if (main && PyErr_CheckSignals() != 0) {
    py::error_already_set interrupt;
    lock.give_back(attempt);
    throw interrupt;
  }
  return true;
}

namespace {

sync::ExchangePtr release_of(const engine::Lockable& lock, OwnerNumber owner, Release how) {
  if (how == Release::kDeferred) return lock.release_deferred(owner);
  return lock.release(owner, how == Release::kAll);
}

}  // namespace

void wait_to_release(const engine::Lockable& lock, OwnerNumber owner, Release how) {
  constexpr auto kKind = OperationKind::kRelease;
  if (!may_be_plain()) return (void)wait_for(kKind, release_of(lock, owner, how));
  const bool main = on_main_thread();
  const sync::Waited waited = without_gil(main, [&](sync::Interrupt* interrupt) {
    if (how == Release::kDeferred) return lock.release_deferred_and_wait(owner, interrupt);
    return lock.release_and_wait(owner, how == Release::kAll, interrupt);
  });
  Observation none;
  if (waited.exchange) return (void)conclude(kKind, waited, main, none);
  if (main && PyErr_CheckSignals() != 0) throw py::error_already_set();
}

void refuse_inside_acquire(const engine::Lockable& lock, OwnerNumber owner) {
  const Status refused = lock.may_use(owner);
  if (!refused.ok()) raise(exception_for(refused));
}

void events_needed() {
  if (!engine::Engine::instance().events()->runs()) {
    py::module_::import("holdfast._events").attr("start")();
  }
}

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
