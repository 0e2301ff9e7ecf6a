#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <utility>

#include "bindings/errors.h"
#include "bindings/pending.h"
#include "bindings/waiting.h"
#include "sync/operation/operation.h"

namespace holdfast::bindings {

// Adds the operations of an engine type to its Python type. Each call of add() registers both
// forms: `name(...)` waits on the calling thread, without the GIL; `start_name(queue, ...)` starts
// the operation for an event loop and returns its number. `make` takes the arguments in the types
// in which Python passes them.
template <typename Type>
class Operations {
 public:
  explicit Operations(Type& type) : type_(type) {}

  template <typename Self, typename... Args>
  Operations& add(OperationKind kind, const char* name,
                  sync::ExchangePtr (Self::*make)(Args...) const) {
    return define<const Self, Args...>(name, [kind, make](const Self& self, Args... args) {
      return Waitable{kind, (self.*make)(std::forward<Args>(args)...)};
    });
  }

  template <typename Self, typename... Args>
  Operations& add(OperationKind kind, const char* name, sync::ExchangePtr (Self::*make)(Args...)) {
    return define<Self, Args...>(name, [kind, make](Self& self, Args... args) {
      return Waitable{kind, (self.*make)(std::forward<Args>(args)...)};
    });
  }

  // `Self` may be const.
  template <typename Self, typename... Args>
  Operations& add(OperationKind kind, const char* name, sync::ExchangePtr (*make)(Self&, Args...)) {
    return define<Self, Args...>(name, [kind, make](Self& self, Args... args) {
      return Waitable{kind, make(self, std::forward<Args>(args)...)};
    });
  }

  // The same for an operation whose kind depends on the arguments.
  template <typename Self, typename... Args>
  Operations& add(const char* name, Waitable (*make)(Self&, Args...)) {
    return define<Self, Args...>(name, make);
  }

 private:
  template <typename Self, typename... Args, typename Make>
  Operations& define(const char* name, Make make) {
    type_.def(name, [make](Self& self, Args... args) {
      const Waitable made = make(self, std::forward<Args>(args)...);
      return wait_for(made.kind, made.operation);
    });
    const std::string start = std::string("start_") + name;
    type_.def(start.c_str(), [make](Self& self, PendingQueue& queue, Args... args) {
      const Waitable made = make(self, std::forward<Args>(args)...);
      return queue.start(made.kind, made.operation);
    });
    return *this;
  }

  Type& type_;
};

}  // namespace holdfast::bindings
