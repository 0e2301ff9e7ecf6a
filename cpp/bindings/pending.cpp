#include "bindings/pending.h"

#include <utility>
#include <vector>

#include "bindings/waiting.h"
#include "redis/client.h"

namespace holdfast::bindings {

namespace py = pybind11;

using client::EventLoopReader;
using Scope = EventLoopReader::Scope;
using Sends = EventLoopReader::Sends;

PendingQueue::PendingQueue() : completions_(std::make_shared<engine::CompletionQueue>()) {}

NumberedQueue::~NumberedQueue() {
  for (const auto& [id, entry] : entries_) entry.operation->end();
  completions().loop().give_up();
}

py::object NumberedQueue::start(const sync::ExchangePtr& operation) {
  Observation observation(*operation);
  const std::uint64_t id = ++last_id_;
  entries_.emplace(id, Entry{operation, std::move(observation)});
  try {
    const Scope scope(completions().loop(), Sends::kAtOnce);
    operation->finish_to(shared_completions(), id);
  } catch (...) {  // no threads or descriptors: the operation has not begun
    entries_.erase(id);
    throw;
  }
  return py::int_(id);
}

void NumberedQueue::cancel(std::uint64_t id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  Entry entry = std::move(found->second);
  entries_.erase(found);
  if (entry.operation->inherited()) return;
  entry.operation->cancel();
  entry.observation.cancelled(*entry.operation);
}

// An interrupt is left to the loop's steps: the other completed operations are still reported.
void NumberedQueue::observe(Entry& entry, const sync::Outcome& outcome) {
  try {
    entry.observation.ended(*entry.operation, outcome);
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("observing the end of an operation");
    PyErr_SetInterrupt();
  }
}

py::list NumberedQueue::drain() {
  py::list results;
  if (exiting()) return results;  // a closing loop would report operations that end now as errors
  std::vector<engine::CompletionQueue::Done> done;
  completions().drain(done);
  for (const auto& [id, outcome] : done) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) continue;
    Entry entry = std::move(found->second);
    entries_.erase(found);
    observe(entry, outcome);
    PythonOutcome result = to_python(*entry.operation, outcome);
    if (!result.exception) result.exception = py::none();
    results.append(py::make_tuple(id, std::move(result.value), std::move(result.exception)));
  }
  return results;
}

}  // namespace holdfast::bindings
