#include "bindings/losses.h"

#include <chrono>
#include <optional>
#include <string>

#include "lease/hold.h"
#include "sync/operation/callers_time.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

// Appends the part of a lock if the text says that the server no longer has its hold: the id of its
// client, its name, what precedes the reason in the text, and the reason.
void append_if_gone(py::list& parts, const sync::Exchange::Part& part, const py::str& text) {
  const std::string title = part.title.empty() ? "" : part.title + ": ";
  for (const char* gone : lease::kGoneReasons) {
    if (!text.contains(python_text(title + gone))) continue;
    const py::str reason(gone);
    return parts.append(
        py::make_tuple(part.client_id, py::bytes(part.name), python_text(title), reason));
  }
}

// The arguments of Python's functions: the text, the owner, the locks that may have been released
// by force, and how many seconds the server has to answer (None: the command timeout). Nothing: no
// lock may have been.
std::optional<py::tuple> about(OperationKind kind, sync::Exchange& exchange, const py::str& text) {
  py::list parts;
  for (const sync::Exchange::Part& part : exchange.parts()) append_if_gone(parts, part, text);
  if (parts.empty()) return std::nullopt;
  const auto owner = static_cast<std::uint64_t>(exchange.about().owner);
  const std::chrono::duration<double> late = sync::kLateAnswer;
  const py::object within =
      kind == OperationKind::kAcquire ? py::object(py::float_(late.count())) : py::none();
  return py::make_tuple(text, owner, parts, within);
}

}  // namespace

bool is_loss(const sync::Outcome& outcome) {
  using sync::Verdict;
  const bool refused = outcome.verdict == Verdict::kFailed && outcome.why.code() == Code::kLost;
  return refused || outcome.verdict == Verdict::kGone || outcome.verdict == Verdict::kExpired;
}

void explain(py::error_already_set& error, OperationKind kind, sync::Exchange& exchange) {
  const py::module_ errors = py::module_::import("holdfast._engine.errors");
  if (!error.matches(errors.attr("LockLostError"))) return;
  const std::optional<py::tuple> given = about(kind, exchange, py::str(error.value()));
  if (!given) return;
  const py::object text =
      py::module_::import("holdfast._engine.events").attr("explained_text")(*(*given));
  error.value().attr("args") = py::make_tuple(text);
}

py::object explanation(OperationKind kind, sync::Exchange& exchange, const sync::Outcome& outcome) {
  if (!is_loss(outcome)) return {};
  const std::optional<py::tuple> given = about(kind, exchange, python_text(outcome.why.message()));
  if (!given) return {};
  return py::module_::import("holdfast._engine.loop").attr("explained")(*(*given));
}

void set_reason(sync::Outcome& outcome, const std::string& reason) {
  const bool refused = outcome.verdict == sync::Verdict::kFailed;
  outcome.why = refused ? Status::lost(reason) : Status::invalid(reason);
}

}  // namespace holdfast::bindings
