#include "bindings/losses.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "lease/hold.h"
#include "sync/operation/callers_time.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

bool may_be_forced(const std::string& reason) {
  return std::any_of(std::begin(lease::kGoneReasons), std::end(lease::kGoneReasons),
                     [&reason](const char* gone) { return reason.find(gone) != reason.npos; });
}

// The arguments of Python's functions after the text: the owner, the locks by their clients' ids
// and their names, and how many seconds the server has to answer (None: the command timeout).
py::tuple about(OperationKind kind, sync::Exchange& exchange) {
  py::list parts;
  for (const sync::Exchange::Part& part : exchange.parts()) {
    parts.append(py::make_tuple(part.client_id, py::bytes(part.name), python_text(part.title)));
  }
  const auto owner = static_cast<std::uint64_t>(exchange.about().owner);
  const std::chrono::duration<double> late = sync::kLateAnswer;
  const py::object within =
      kind == OperationKind::kAcquire ? py::object(py::float_(late.count())) : py::none();
  return py::make_tuple(owner, parts, within);
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
  const py::tuple given = about(kind, exchange);
  py::module_::import("holdfast._engine.event_log").attr("explain")(error.value(), *given);
}

py::object explanation(OperationKind kind, sync::Exchange& exchange, const sync::Outcome& outcome) {
  if (!is_loss(outcome) || !may_be_forced(outcome.why.message())) return {};
  const py::tuple given = about(kind, exchange);
  return py::module_::import("holdfast._engine.loop")
      .attr("explained")(python_text(outcome.why.message()), *given);
}

void set_reason(sync::Outcome& outcome, const std::string& reason) {
  const bool refused = outcome.verdict == sync::Verdict::kFailed;
  outcome.why = refused ? Status::lost(reason) : Status::invalid(reason);
}

py::tuple gone_reasons() {
  py::list reasons;
  for (const char* reason : lease::kGoneReasons) reasons.append(py::str(reason));
  return reasons;
}

}  // namespace holdfast::bindings
