#include "base/interpreter.h"

#include <atomic>

namespace holdfast {

namespace {

std::atomic<const Interpreter*> g_interpreter{nullptr};

}  // namespace

void set_interpreter(const Interpreter& interpreter) { g_interpreter.store(&interpreter); }

bool interpreter_held() {
  const Interpreter* const interpreter = g_interpreter.load();
  return interpreter != nullptr && interpreter->held();
}

void without_interpreter(const std::function<void()>& body) {
  if (interpreter_held()) return g_interpreter.load()->without(body);
  body();
}

}  // namespace holdfast
