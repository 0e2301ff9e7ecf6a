#include "bindings/task_queue.h"

#include <poll.h>

#include <array>
#include <optional>
#include <utility>

#include "bindings/awaitable.h"
#include "bindings/critical_section.h"
#include "bindings/native_object.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "redis/base/process.h"
#include "redis/client.h"

namespace holdfast::bindings {

namespace py = pybind11;

using client::EventLoopReader;
using Scope = EventLoopReader::Scope;
using Sends = EventLoopReader::Sends;

namespace {

// To Python: a caller outside of any task.
constexpr OwnerNumber kNoOwner{~std::uint64_t{0}};

// The queue of the loop that called last: mostly the only one. With the GIL held; null without one,
// where another thread could destroy it.
TaskQueue* g_latest = nullptr;

template <typename... Args>
py::object called(const py::handle& function, const Args&... args) {
  const std::array<PyObject*, sizeof...(args) + 1> given{args.ptr()..., nullptr};
  PyObject* const result =
      PyObject_Vectorcall(function.ptr(), given.data(), sizeof...(args), nullptr);
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

py::object bridge() {
  static KeptObject function;
  return called(function.attribute("holdfast._engine.loop", "bridge"));
}

// None outside of any task.
py::object current_task(const py::object& loop) {
#if PY_VERSION_HEX >= 0x030c0000
  static KeptObject current;
  return called(current.attribute("asyncio.tasks", "current_task"), loop);
#else  // there it is bytecode that looks into this
  static KeptObject tasks;
  py::object task = item_of(tasks.attribute("asyncio.tasks", "_current_tasks"), loop);
  return task ? task : py::none();
#endif
}

// Which times each callback.
bool in_debug_mode(const py::object& loop) {
  static KeptObject attribute;
  const auto known = py::reinterpret_steal<py::object>(PyObject_GetAttr(
      loop.ptr(), attribute.interned("_debug").ptr()));  // asyncio's method is bytecode
  if (known) return PyObject_IsTrue(known.ptr()) == 1;
  PyErr_Clear();
  return loop.attr("get_debug")().cast<bool>();
}

// Leaves the context of the loop's callback, which cannot be entered twice: with libraries that
// patch asyncio, a task may run the loop inside its step.
class OutsideOfContext {
 public:
  OutsideOfContext() : context_(py::reinterpret_borrow<py::object>(PyThreadState_Get()->context)) {
    if (!context_ || PyContext_Exit(context_.ptr()) == 0) return;
    PyErr_Clear();
    context_ = py::object();
  }
  ~OutsideOfContext() {
    const py::error_scope keeps;
    if (context_ && PyContext_Enter(context_.ptr()) != 0) PyErr_WriteUnraisable(context_.ptr());
  }
  OutsideOfContext(const OutsideOfContext&) = delete;
  OutsideOfContext& operator=(const OutsideOfContext&) = delete;

 private:
  py::object context_;  // null: there was none
};

}  // namespace

TaskQueue::TaskQueue(const py::object& loop, py::object owners)
    : loop_ref_(py::weakref(loop)),
      owners_(std::move(owners)),
      continues_(!owners_.is_none()),
      sees_ready_(py::hasattr(loop, "_ready")),
      epoch_(fork_epoch()),
      completions_(std::make_shared<engine::CompletionQueue>()) {}

void TaskQueue::end() {
  if (g_latest == this) g_latest = nullptr;
  clear();
  completions_->loop().give_up();
}

py::object TaskQueue::loop() const {
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* loop = nullptr;
  if (PyWeakref_GetRef(loop_ref_.ptr(), &loop) < 0) throw py::error_already_set();
  return loop == nullptr ? py::none() : py::reinterpret_steal<py::object>(loop);
#else
  return py::reinterpret_borrow<py::object>(PyWeakref_GetObject(loop_ref_.ptr()));
#endif
}

TaskQueue& TaskQueue::of_running_loop() {
  if constexpr (kFreeThreaded) return *bridge().attr("queue").cast<TaskQueue*>();
  static KeptObject running;
  const auto loop = py::reinterpret_steal<py::object>(
      PyObject_CallNoArgs(running.attribute("asyncio.events", "_get_running_loop").ptr()));
  if (!loop) throw py::error_already_set();
  if (loop.is_none()) (void)bridge();  // which says what to use instead
  const bool runs = g_latest != nullptr && g_latest->epoch_ == fork_epoch();
  if (!runs || !g_latest->loop().is(loop)) {
    g_latest = bridge().attr("queue").cast<TaskQueue*>();
  }
  return *g_latest;
}

std::optional<OwnerNumber> TaskQueue::find_owner() const {
  const py::object task = current_task(loop());
  const py::object number = item_of(owners_, task);
  if (!number) return std::nullopt;
  return number.cast<OwnerNumber>();
}

OwnerNumber TaskQueue::new_owner() { return bridge().attr("owner")().cast<OwnerNumber>(); }

OwnerNumber TaskQueue::known_owner() const { return find_owner().value_or(kNoOwner); }

bool TaskQueue::idle() const {
  const SharedLock lock(mutex_);
  return waiting_.empty();
}

// Without the mutex: the collector has stopped all threads, none of them inside of a change.
int TaskQueue::traverse(visitproc visit, void* arg) const {
  Py_VISIT(owners_.ptr());
  return waiting_.visit_all([&](PyObject* awaitable) { return visit(awaitable, arg); });
}

void TaskQueue::clear() {
  PendingResults waiting;
  {
    const SharedLock lock(mutex_);
    waiting.swap(waiting_);
  }
  (void)waiting.visit_all([](PyObject* each) {
    Awaitable& awaitable = awaitable_of(each);
    awaitable.queue = nullptr;
    awaitable.over = true;
    awaitable.operation->end();
    return 0;
  });
}

py::object TaskQueue::start(const sync::ExchangePtr& operation) {
  py::object made = new_awaitable(nullptr);
  begin(awaitable_of(made.ptr()), operation);
  return made;
}

void TaskQueue::begin(Awaitable& awaitable, const sync::ExchangePtr& operation) {
  Observation observation(*operation);
  awaitable.operation = operation;
  awaitable.observation = std::move(observation);
  awaitable.loop = loop().release().ptr();
  awaitable.queue = this;
  {
    const SharedLock lock(mutex_);
    awaitable.id = waiting_.add(py::reinterpret_borrow<py::object>(awaitable.object()));
  }
  try {
    const Scope scope(completions_->loop(), Sends::kAtOnce);
    awaitable.outcome = completions_->begin(*operation, awaitable.id);
  } catch (...) {  // no threads or descriptors: the operation has not begun
    awaitable.leave_queue();
    awaitable.over = true;
    throw;
  }
  if (awaitable.outcome) {
    if (continues_) return awaitable.leave_queue();
    return completions_->done(awaitable.id, *std::exchange(awaitable.outcome, std::nullopt));
  }
  if (operation->busy_polls() != nullptr && busy_poll_.measures()) look(awaitable);
}

// Before the loop gets the thread back: it would only sleep until the reply, where no callback is
// due, and no other task waits here. What the loop finds then goes the usual way, so that it sees
// to all else that has come.
void TaskQueue::look(const Awaitable& awaitable) {
  measured_ = 0;
  {
    const SharedLock lock(mutex_);
    if (!waiting_.holds_one()) return;
  }
  if (keeps_order(loop())) return;
  measured_ = awaitable.id;
  begun_ = client::BusyPoll::Time::now();
  reading_ = {};
  if (!busy_poll_.looks()) return;
  const py::gil_scoped_release released;
  pollfd come{completions_->fd(), POLLIN, 0};
  client::BusyPoll::look(begun_, reading_, *awaitable.operation->busy_polls(),
                         [&come] { return ::poll(&come, 1, 0) != 0; });
}

// Whether a task could overtake a callback in the loop's queue: the queue is not empty, or cannot
// be seen (uvloop).
bool TaskQueue::keeps_order(const py::object& loop) const {
  static KeptObject name;
  if (!sees_ready_) return true;
  const auto ready = py::reinterpret_steal<py::object>(
      PyObject_GetAttr(loop.ptr(), name.interned("_ready").ptr()));
  const Py_ssize_t size = ready ? PyObject_Size(ready.ptr()) : -1;
  if (size < 0) PyErr_Clear();
  return size != 0;
}

py::object TaskQueue::drain() {
  // A closing loop would report operations that end now as errors.
  if (exiting()) return py::list();
  std::vector<engine::CompletionQueue::Done> done = std::exchange(done_, {});
  Ended ended = std::exchange(ended_, {});
  Scope scope(completions_->loop(), Sends::kAtTheEnd);
  completions_->drain(done);
  for (auto& [id, outcome] : done) {
    if (id == measured_) {
      measured_ = 0;
      reading_.took = client::BusyPoll::Time::now() - begun_;
      busy_poll_.measured(reading_);
    }
    py::object found = take(id);
    if (!found) continue;
    Awaitable& awaitable = awaitable_of(found.ptr());
    awaitable.queue = nullptr;
    awaitable.outcome = std::move(outcome);
    ended.push_back(std::move(found));
  }
  done.clear();
  done_ = std::move(done);
  // A single task may run the loop inside its step: its commands must not wait for the end of the
  // step.
  scope.send(ended.size() == 1 ? Sends::kAtOnce : Sends::kAtTheEnd);
  py::object results = py::none();
  if (!continues_) {
    results = results_of(ended);
  } else if (!ended.empty()) {
    step(ended);
  }
  ended.clear();
  ended_ = std::move(ended);
  return results;
}

// An interrupt of the observer is left to the loop's steps: the others are still reported.
py::list TaskQueue::results_of(const Ended& ended) {
  py::list results;
  for (const py::object& each : ended) {
    Awaitable& awaitable = awaitable_of(each.ptr());
    if (std::exchange(awaitable.over, true)) continue;  // an observer of another has cancelled it
    try {
      awaitable.observation.ended(*awaitable.operation, *awaitable.outcome);
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("observing the end of an operation");
      PyErr_SetInterrupt();
    }
    PythonOutcome result{py::none(), {}};
    try {
      result = to_python(*awaitable.operation, *awaitable.outcome);
    } catch (py::error_already_set& error) {  // no memory, or an interrupt: that caller's alone
      awaitable.operation->cancel();
      result.exception = error.value();
    }
    if (!result.exception) result.exception = py::none();
    results.append(py::make_tuple(each, std::move(result.value), std::move(result.exception)));
  }
  return results;
}

void TaskQueue::step(const Ended& ended) {
  const py::object loop = this->loop();
  bool soon = !sees_ready_ || in_debug_mode(loop);
  std::optional<py::error_already_set> interrupt;
  for (const py::object& each : ended) {
    Awaitable& awaitable = awaitable_of(each.ptr());
    soon = soon || keeps_order(loop);
    if (soon) {
      awaitable.call_soon();
      continue;
    }
    try {
      const OutsideOfContext outside;
      awaitable.step();
    } catch (py::error_already_set& error) {  // SystemExit, KeyboardInterrupt: the loop ends
      interrupt.emplace(std::move(error));
      soon = true;
    }
  }
  if (interrupt) throw py::error_already_set(std::move(*interrupt));
}

namespace {

TaskQueue* queue_of(PyObject* self) {
  auto* const instance = reinterpret_cast<py::detail::instance*>(self);
  return static_cast<TaskQueue*>(instance->get_value_and_holder().value_ptr());
}

// Continues greenlets, each by the Waiter of gevent that `waiting` has for its Awaitable. No code
// of Python runs from drain() to there, which a signal handler could end by an exception: the
// results would be lost, and gevent would not call a callback again that has raised. Outside of the
// Scope of drain(), as each greenlet has the stack for itself.
void switch_to(const py::list& results, PyObject* waiting) {
  static KeptObject method;
  for (const py::handle& each : results) {
    const auto answer = py::reinterpret_steal<py::object>(PyTuple_GetSlice(each.ptr(), 1, 3));
    if (!answer) throw py::error_already_set();  // no memory
    const py::object waiter = take_item(waiting, PyTuple_GET_ITEM(each.ptr(), 0));
    if (!waiter) continue;  // it no longer waits
    const std::array<PyObject*, 2> given{waiter.ptr(), answer.ptr()};
    const auto done = py::reinterpret_steal<py::object>(PyObject_VectorcallMethod(
        method.interned("switch").ptr(), given.data(), given.size(), nullptr));
    if (done) continue;
    // Of the switch itself, as where a second interrupt comes while a greenlet's is reported.
    const bool interrupt = PyErr_ExceptionMatches(PyExc_Exception) == 0;
    PyErr_WriteUnraisable(waiter.ptr());
    if (interrupt) PyErr_SetInterrupt();
  }
}

PyObject* drain_queue(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guarded([&]() -> py::object {
    py::object results = queue_of(self)->drain();
    if (count == 0 || !PyDict_Check(arguments[0])) return results;  // kept by the loop
    switch_to(results, arguments[0]);
    return py::none();
  });
}

}  // namespace

void register_task_queue(py::module_& module) {
  make_awaitable_type();
  const auto collect = [](PyHeapTypeObject* heap_type) {
    PyTypeObject* const type = &heap_type->ht_type;
    type->tp_flags |= Py_TPFLAGS_HAVE_GC;
    type->tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
      Py_VISIT(Py_TYPE(self));
      const TaskQueue* const queue = queue_of(self);
      return queue == nullptr ? 0 : queue->traverse(visit, arg);
    };
    type->tp_clear = [](PyObject* self) {
      TaskQueue* const queue = queue_of(self);
      if (queue != nullptr) queue->clear();
      return 0;
    };
  };
  py::class_<TaskQueue>(module, "TaskQueue", py::custom_type_setup(collect))
      .def(py::init<const py::object&, py::object>(), py::arg("loop"),
           py::arg("owners") = py::none())
      .def("fileno", &TaskQueue::fd)
      .def("start", &TaskQueue::start)
      .def("idle", &TaskQueue::idle)
      .def("end", &TaskQueue::end)
      // A function without the binding's dispatch, as the loop calls it for each reply.
      .def_property_readonly("drain", [](const py::object& queue) {
        static PyMethodDef method{"drain", as_method(drain_queue), METH_FASTCALL, nullptr};
        return py::reinterpret_steal<py::object>(PyCFunction_NewEx(&method, queue.ptr(), nullptr));
      });
}

}  // namespace holdfast::bindings
