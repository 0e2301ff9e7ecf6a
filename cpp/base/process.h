#pragma once

#include <cstdint>
#include <functional>

namespace holdfast {

// Grows with each fork(), in the child: objects of another epoch belong to an ancestor. Any thread;
// as cheap as reading an integer.
std::uint64_t fork_epoch();

// `forget` is called in every child, right after fork(), where only async-signal-safe steps are
// allowed.
void call_in_child(void (*forget)());

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
