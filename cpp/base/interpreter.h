#pragma once

#include <functional>

namespace holdfast {

// The interpreter of the program, as the layers below the bindings know it. In a program without
// one no thread holds it.
struct Interpreter {
  bool (*held)();  // by the calling thread
  void (*without)(const std::function<void()>& body);
};

// Once, before any client is made.
void set_interpreter(const Interpreter& interpreter);

// Whether the calling thread holds the interpreter's lock (GIL): then all others stand still while
// it waits.
bool interpreter_held();

// Calls `body` without that lock.
void without_interpreter(const std::function<void()>& body);

}  // namespace holdfast
