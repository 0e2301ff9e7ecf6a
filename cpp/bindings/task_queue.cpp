#include "bindings/task_queue.h"

#include <new>
#include <optional>
#include <utility>

#include "bindings/answer.h"
#include "bindings/native_object.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "client/foreign_loop.h"

namespace holdfast::bindings {

namespace py = pybind11;

using client::ForeignLoop;
using Scope = ForeignLoop::Scope;
using Sends = ForeignLoop::Sends;

namespace {

// Whether a task could overtake a callback in the loop's queue: the queue is not empty, or cannot
// be seen (uvloop).
bool keeps_order(const py::object& loop) {
  const py::object ready = py::getattr(loop, "_ready", py::none());
  if (ready.is_none()) return true;
  const Py_ssize_t size = PyObject_Size(ready.ptr());
  if (size < 0) PyErr_Clear();
  return size != 0;
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

TaskQueue::TaskQueue(const py::object& loop) : loop_(py::weakref(loop)) {}

TaskQueue::~TaskQueue() {
  clear();
  completions().loop().give_up();
}

int TaskQueue::traverse(visitproc visit, void* arg) const {
  for (const auto& [id, answer] : waiting_) Py_VISIT(answer.ptr());
  return 0;
}

void TaskQueue::clear() {
  const auto waiting = std::exchange(waiting_, {});
  for (const auto& [id, each] : waiting) {
    Answer& answer = answer_of(each.ptr());
    answer.queue = nullptr;
    answer.over = true;
    answer.operation->cancel();
  }
}

py::object TaskQueue::start(OperationKind kind, const sync::ExchangePtr& operation) {
  Observation observation(kind, *operation);
  PyTypeObject* const type = answer_type();
  PyObject* const self = type->tp_alloc(type, 0);
  if (self == nullptr) throw py::error_already_set();
  auto made = py::reinterpret_steal<py::object>(self);
  Answer& answer = answer_of(self);
  new (&answer.operation) sync::ExchangePtr(operation);
  new (&answer.observation) Observation(std::move(observation));
  new (&answer.outcome) std::optional<sync::Outcome>();
  answer.loop = loop_().release().ptr();
  answer.kind = kind;
  answer.id = next_id();
  answer.queue = this;
  waiting_.emplace(answer.id, made);
  try {
    const Scope scope(completions().loop(), Sends::kAtOnce);
    answer.outcome = completions().begin(*operation, answer.id);
  } catch (...) {  // no threads or descriptors: the operation has not begun
    answer.leave_queue();
    answer.over = true;
    throw;
  }
  if (answer.outcome) answer.leave_queue();
  return made;
}

// The ended operations, each with its outcome.
std::vector<py::object> TaskQueue::settled() {
  std::vector<py::object> ended;
  const Scope scope(completions().loop(), Sends::kAtTheEnd);
  for (auto& [id, outcome] : completions().drain()) {
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) continue;
    ended.push_back(std::move(found->second));
    waiting_.erase(found);
    Answer& answer = answer_of(ended.back().ptr());
    answer.queue = nullptr;
    answer.outcome = std::move(outcome);
  }
  return ended;
}

void TaskQueue::drain() {
  if (exiting()) return;  // a closing loop would report operations that end now as errors
  const std::vector<py::object> ended = settled();
  if (ended.empty()) return;
  // A single task may run the loop inside its step: its commands must not wait for the end of the
  // step.
  const bool alone = ended.size() == 1;
  const Scope scope(completions().loop(), alone ? Sends::kAtOnce : Sends::kAtTheEnd);
  const py::object loop = loop_();
  bool soon = loop.attr("get_debug")().cast<bool>();  // debug mode times each callback
  std::optional<py::error_already_set> interrupt;
  for (const py::object& each : ended) {
    Answer& answer = answer_of(each.ptr());
    soon = soon || keeps_order(loop);
    if (soon) {
      answer.call_soon();
      continue;
    }
    try {
      const OutsideOfContext outside;
      answer.step();
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

int traverse_queue(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const TaskQueue* const queue = queue_of(self);
  return queue == nullptr ? 0 : queue->traverse(visit, arg);
}

int clear_queue(PyObject* self) {
  TaskQueue* const queue = queue_of(self);
  if (queue != nullptr) queue->clear();
  return 0;
}

void collect(PyHeapTypeObject* heap_type) {
  PyTypeObject* const type = &heap_type->ht_type;
  type->tp_flags |= Py_TPFLAGS_HAVE_GC;
  type->tp_traverse = traverse_queue;
  type->tp_clear = clear_queue;
}

}  // namespace

void register_task_queue(py::module_& module) {
  (void)answer_type();
  py::class_<TaskQueue, PendingQueue>(module, "TaskQueue", py::custom_type_setup(collect))
      .def(py::init<const py::object&>())
      .def("idle", &TaskQueue::idle)
      .def("drain", [](TaskQueue& queue, const py::args& /*kept by the loop*/) { queue.drain(); });
}

}  // namespace holdfast::bindings
