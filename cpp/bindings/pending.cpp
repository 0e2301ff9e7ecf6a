#include "bindings/pending.h"

#include <utility>

#include "bindings/waiting.h"

namespace holdfast::bindings {

namespace py = pybind11;

PendingQueue::PendingQueue() : queue_(std::make_shared<engine::CompletionQueue>()) {}

PendingQueue::~PendingQueue() {
  for (const auto& [id, entry] : entries_) entry.operation->cancel();
}

std::uint64_t PendingQueue::start(OperationKind kind, const sync::ExchangePtr& operation) {
  Observation observation(kind, *operation);
  const std::uint64_t id = ++last_;
  entries_.emplace(id, Entry{kind, operation, std::move(observation)});
  operation->finish_to(queue_, id);
  return id;
}

void PendingQueue::cancel(std::uint64_t id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  Entry entry = std::move(found->second);
  entries_.erase(found);
  entry.operation->cancel();
  entry.observation.cancelled(*entry.operation);
}

// An interrupt is left to the loop's steps: the other completed operations are still reported.
void PendingQueue::observe(Entry& entry, const sync::Outcome& outcome) {
  try {
    entry.observation.ended(*entry.operation, outcome);
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("observing the end of an operation");
    PyErr_SetInterrupt();
  }
}

py::list PendingQueue::drain() {
  py::list results;
  if (exiting()) return results;  // what ends now would be reported as an error by a dying loop
  for (const auto& [id, outcome] : queue_->drain()) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) continue;
    Entry entry = std::move(found->second);
    entries_.erase(found);
    observe(entry, outcome);
    PythonOutcome result = to_python(entry.kind, entry.operation->name().bytes(), outcome);
    if (!result.exception) result.exception = py::none();
    results.append(py::make_tuple(id, std::move(result.value), std::move(result.exception)));
  }
  return results;
}

}  // namespace holdfast::bindings
