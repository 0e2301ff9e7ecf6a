// The methods of permit semaphores for threads that must not be interrupted between the grant and
// their return: see blocking_lock.cpp.

#include <algorithm>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "bindings/errors.h"
#include "bindings/native_object.h"
#include "bindings/permits.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "locks/locks.h"
#include "redis/base/process.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace blocking_permit_semaphore {
namespace {

using engine::PermitSemaphore;

// A permit of a `with` block.
struct Entered {
  std::uint64_t epoch;  // a child of fork() must not give back its parent's permits
  OwnerNumber thread;
  std::string permit;
};

using AllEntered = std::list<Entered>;  // its changes allocate nothing, so none
                                        // fails after a grant

struct PermitState final : NativeState {
  explicit PermitState(const Arguments& args)
      : semaphore(args[0].cast<std::shared_ptr<PermitSemaphore>>()),
        lease(lease_of(args[1])),
        wait(args[2].cast<Duration>()),
        listener(args[3].cast<std::uint64_t>()),
        reports(args[4].cast<bool>()) {}

  const std::shared_ptr<PermitSemaphore> semaphore;
  const Lease lease;
  const Duration wait;
  const std::uint64_t listener;
  const bool reports;  // Python's _reporter() is to be called
  AllEntered entered;  // oldest first; with the object's lock
};

// The ids of the permits that an attempt has got, recorded from before it on. They are forgotten
// unless they are granted.
class Expected {
 public:
  Expected(PyObject* self, const PermitSemaphore& semaphore, std::int64_t count)
      : self_(self), first_(next_owner_number(count)), ids_(static_cast<std::size_t>(count)) {
    for (std::int64_t i = 0; i < count; ++i) {
      ids_[static_cast<std::size_t>(i)] = hex_of(semaphore.permit(owner_after(first_, i)));
    }
  }

  void record(const PermitState& state) const {
    const py::object report = state.reports ? self_of(self_).attr("_reporter")() : py::none();
    for (const py::handle id : ids_) {
      expect_permit(self_, py::reinterpret_borrow<py::object>(id), report);
    }
  }

  void forget() const {
    for (const py::handle id : ids_) {
      forget_permit(self_, py::reinterpret_borrow<py::object>(id));
    }
  }

  OwnerNumber first() const { return first_; }
  std::int64_t count() const { return static_cast<std::int64_t>(ids_.size()); }
  const py::list& ids() const { return ids_; }

 private:
  PyObject* const self_;
  const OwnerNumber first_;
  py::list ids_;
};

// Whether they are granted.
bool acquire(PyObject* self, const PermitState& state, sync::AcquireArguments& arguments,
             const Expected& expected) {
  before_acquire(self);
  arguments.owner = expected.first();
  arguments.listener = state.listener;
  arguments.amount = expected.count();
  try {
    expected.record(state);
    const auto answer = wait_for(state.semaphore->acquire(arguments));
    if (answer.is(py::bool_(true))) return true;
  } catch (...) {
    expected.forget();
    throw;
  }
  expected.forget();
  return false;
}

// Raises NotOwnedError where it is not in use, and the error of the release of a renewed permit.
void release(PyObject* self, const PermitState& state, const std::string& permit) {
  const sync::ExchangePtr release = state.semaphore->release(permit);
  bool was_out = false;
  try {
    const py::object answer = wait_for(release);
    forget_permit(self, hex_of(permit));
    was_out = answer.is_none() || answer.cast<int>() != 0;
  } catch (py::error_already_set&) {
    // Also where the release goes on in the background: no loss of it is found any more.
    forget_permit(self, hex_of(permit));
    throw;
  }
  if (!was_out) raise(self_of(self).attr("_not_out")(hex_of(permit)));
}

// The arguments of an acquire, by Python's checks.
sync::AcquireArguments arguments_of(const py::tuple& request) {
  sync::AcquireArguments arguments;
  arguments.blocking = request[0].cast<bool>();
  arguments.timeout = wait_time(request[1].cast<double>());
  arguments.lease = lease_of(request[2]);
  arguments.purpose = purpose_of(request[3].cast<std::optional<std::string>>());
  return arguments;
}

py::object acquire_method(PyObject* self, PermitState& state, const Arguments& given) {
  sync::AcquireArguments arguments;
  arguments.lease = state.lease;
  if (!given.empty()) arguments = arguments_of(call_python(self, "_checked_request", given));
  const Expected expected(self, *state.semaphore, 1);
  if (acquire(self, state, arguments, expected)) return expected.ids()[0];
  if (arguments.blocking) self_of(self).attr("_check_number")();
  return py::none();
}

py::object acquire_many(PyObject* self, PermitState& state, const Arguments& given) {
  const py::tuple request = call_python(self, "_checked_request_of_many", given);
  sync::AcquireArguments arguments = arguments_of(request);
  const Expected expected(self, *state.semaphore, request[4].cast<std::int64_t>());
  if (acquire(self, state, arguments, expected)) return expected.ids();
  if (arguments.blocking) self_of(self).attr("_check_number")();
  return py::none();
}

// Python raises the errors for invalid arguments.
void release_method(PyObject* self, PermitState& state, const Arguments& given) {
  std::optional<std::string> permit;
  if (given.count == 1 && given.keywords == nullptr) permit = permit_in(given.values[0]);
  if (!permit) {
    permit = py::tuple(call_python(self, "_checked_permit", given))[0].cast<std::string>();
  }
  release(self, state, *permit);
}

py::object enter(PyObject* self, PermitState& state) {
  sync::AcquireArguments arguments;
  arguments.lease = state.lease;
  arguments.timeout = state.wait;
  const Expected expected(self, *state.semaphore, 1);
  AllEntered entered{{fork_epoch(), calling_owner(), state.semaphore->permit(expected.first())}};
  if (!acquire(self, state, arguments, expected)) raise(self_of(self).attr("_timed_out")());
  const ObjectLock lock(self);
  state.entered.splice(state.entered.end(), entered);
  return expected.ids()[0];
}

// Arguments: keeping, permit. Keeps what a block begins with, whose end is exit().
void keep(PyObject* self, PermitState& state, const Arguments& given) {
  const auto permit = permit_in(given[1].ptr());
  AllEntered entered{Entered{fork_epoch(), calling_owner(), permit.value()}};
  auto& keeping = given[0].cast<sync::Keeping&>();
  {
    const ObjectLock lock(self);
    state.entered.splice(state.entered.end(), entered);
  }
  if (!keeping.keep()) raise_closed(*keeping.acquire);
}

// Arguments: keeping, permit. The block has not begun.
void undo(PyObject* self, PermitState& state, const Arguments& given) {
  const auto permit = permit_in(given[1].ptr());
  {
    const ObjectLock lock(self);
    state.entered.remove_if([&](const Entered& each) { return each.permit == *permit; });
  }
  given[0].cast<sync::Keeping&>().undo();
}

// The calling thread's latest permit, else the oldest; empty: there is none.
std::string take_entered(PyObject* self, PermitState& state) {
  auto& all = state.entered;
  const std::uint64_t epoch = fork_epoch();
  const OwnerNumber thread = calling_owner();
  const ObjectLock lock(self);
  all.remove_if([epoch](const Entered& each) { return each.epoch != epoch; });
  const auto mine = std::find_if(all.rbegin(), all.rend(),
                                 [thread](const Entered& each) { return each.thread == thread; });
  if (all.empty()) return {};
  const auto chosen = mine == all.rend() ? all.begin() : std::prev(mine.base());
  std::string permit = std::move(chosen->permit);
  all.erase(chosen);
  return permit;
}

void leave(PyObject* self, PermitState& state) {
  const std::string permit = take_entered(self, state);
  if (permit.empty()) raise(self_of(self).attr("_not_entered")());
  release(self, state, permit);
}

using Type = NativeType<PermitState>;
PyMethodDef g_methods[] = {
    Type::bind(),
    Type::method<&acquire_method>("acquire"),
    Type::method<&acquire_many>("acquire_many"),
    Type::method<&release_method>("release"),
    Type::method<&enter>("__enter__"),
    Type::exit<&leave>(),
    Type::method<&keep>("_keep"),
    Type::method<&undo>("_undo"),
    {nullptr, nullptr, 0, nullptr},
};

const Registration g_registration([](py::module_& module) {
  add_native_type(module, "holdfast._core.BlockingPermitSemaphore", g_methods);
});

}  // namespace
}  // namespace blocking_permit_semaphore

}  // namespace holdfast::bindings
