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

}  // namespace

py::object wait_for(OperationKind kind, const sync::ExchangePtr& operation) {
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
  PyEval_RestoreThread(state);
  g_inside.fetch_sub(1);
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
