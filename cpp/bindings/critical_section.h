#pragma once

#include <pybind11/critical_section.h>
#include <pybind11/pybind11.h>

#include <atomic>
#include <mutex>
#include <utility>

// The protection of data of several threads in a CPython without a GIL. In one with a GIL, which
// protects it there, these are plain values and locks that do nothing.
//
//   data                                          protected by
//   the state of a native object (NativeState)    the object's lock, to find or replace it; an
//                                                 atomic count of the calls that use it
//   whether a hold is being ended (HoldState)     an atomic exchange: one thread ends it
//   permits of `with` blocks (PermitState)        the object's lock; what follows a grant
//                                                 allocates nothing
//   permits of a client, lost permits             the dict's lock; found and removed in one step
//   the observer                                  a mutex; a call counts as a user of that one
//   the queue of the loop that called last        not used: a call finds it through Python
//   the awaitables of a loop (TaskQueue)          a mutex; destroyed after it is unlocked
//   the finished Future of a task                 each awaitable stands for itself, as a task
//                                                 writes to it
//   interned names, functions of other modules    KeptObject: several threads may make one, the
//                                                 first is kept. A thread that waits for a static
//                                                 variable would hold up the garbage collector
//   sys.modules and other dicts read in C++       counted references
//   the functions of gevent                       atomics; gevent itself switches the GIL on
//   clients and loops of the process, in Python   copies made in one step
//
// One lock for the whole module would be the GIL again; critical sections around whole calls are
// given up whenever a thread waits. No Python code runs with one of these locks held, and after the
// import no static variable of a function is filled by Python code. docs/client.md says what
// threads may share.
namespace holdfast::bindings {

// Locks a Python object. For a few steps that run no Python code, wait for nothing and throw
// nothing.
using ObjectLock = pybind11::scoped_critical_section;

#ifdef Py_GIL_DISABLED

constexpr bool kFreeThreaded = true;

// A value that threads read and set.
template <typename Value>
using Shared = std::atomic<Value>;

template <typename Value>
Value exchange(Shared<Value>& shared, Value value) {
  return shared.exchange(value);
}

// The lock for data that is no Python object. A thread that waits for it does not hold up the
// garbage collector, which waits for all threads.
class SharedMutex {
 public:
  void lock() { PyMutex_Lock(&mutex_); }
  void unlock() { PyMutex_Unlock(&mutex_); }

 private:
  PyMutex mutex_{};
};

#else

constexpr bool kFreeThreaded = false;

template <typename Value>
using Shared = Value;

template <typename Value>
Value exchange(Value& shared, Value value) {
  return std::exchange(shared, value);
}

class SharedMutex {
 public:
  void lock() {}
  void unlock() {}
};

#endif

using SharedLock = std::lock_guard<SharedMutex>;

// A Python object that is made by its first use and kept for ever. Where several threads make it at
// once, one object is kept. Unlike a static variable of a function, it has no thread wait for
// another one that runs Python code.
class KeptObject {
 public:
  constexpr KeptObject() = default;

  // `make` returns the object; null: not yet, and nothing is kept.
  template <typename Make>
  pybind11::handle get(const Make& make) {
    PyObject* kept = kept_.load(std::memory_order_acquire);
    if (kept != nullptr) return kept;
    pybind11::object made = make();
    if (!made || !kept_.compare_exchange_strong(kept, made.ptr())) return kept;
    return made.release();
  }
  pybind11::handle interned(const char* text) {
    return get([text] {
      return pybind11::reinterpret_steal<pybind11::object>(PyUnicode_InternFromString(text));
    });
  }
  // An attribute of a module, which is imported for it.
  pybind11::handle attribute(const char* module, const char* name) {
    return get([=] { return pybind11::object(pybind11::module_::import(module).attr(name)); });
  }

 private:
  std::atomic<PyObject*> kept_{nullptr};
};

// The value of a dict's key, which another thread may remove meanwhile; null: it has none.
inline pybind11::object item_of(pybind11::handle dict, pybind11::handle key) {
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* value = nullptr;
  if (PyDict_GetItemRef(dict.ptr(), key.ptr(), &value) < 0) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(value);
#else
  PyObject* const value = PyDict_GetItemWithError(dict.ptr(), key.ptr());
  if (value == nullptr && PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_borrow<pybind11::object>(value);
#endif
}

// Removes a key, if the dict has it; its value, or null. Of several threads one gets it.
inline pybind11::object take_item(pybind11::handle dict, pybind11::handle key) {
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* value = nullptr;
  if (PyDict_Pop(dict.ptr(), key.ptr(), &value) < 0) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(value);
#else
  pybind11::object value = item_of(dict, key);
  if (value && PyDict_DelItem(dict.ptr(), key.ptr()) != 0) throw pybind11::error_already_set();
  return value;
#endif
}

}  // namespace holdfast::bindings
