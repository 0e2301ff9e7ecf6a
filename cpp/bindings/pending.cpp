#include "bindings/pending.h"

#include <utility>

namespace holdfast::bindings {

namespace py = pybind11;

PendingQueue::PendingQueue() : queue_(std::make_shared<engine::CompletionQueue>()) {}

PendingQueue::~PendingQueue() {
  for (const auto& [id, entry] : entries_) entry.operation->cancel();
}

std::uint64_t PendingQueue::start(OperationKind kind, const sync::ExchangePtr& operation) {
  const std::uint64_t id = ++last_;
  entries_.emplace(id, Entry{kind, operation});
  operation->finish_to(queue_, id);
  return id;
}

void PendingQueue::cancel(std::uint64_t id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  const sync::ExchangePtr operation = std::move(found->second.operation);
  entries_.erase(found);
  operation->cancel();
}

py::list PendingQueue::drain() {
  py::list results;
  for (const auto& [id, outcome] : queue_->drain()) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) continue;
    const Entry entry = std::move(found->second);
    entries_.erase(found);
    PythonOutcome result = to_python(entry.kind, entry.operation->name().bytes(), outcome);
    if (!result.exception) result.exception = py::none();
    results.append(py::make_tuple(id, std::move(result.value), std::move(result.exception)));
  }
  return results;
}

}  // namespace holdfast::bindings
