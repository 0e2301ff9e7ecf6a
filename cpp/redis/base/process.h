#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace holdfast {

// Grows with each fork(), in the child: objects of another epoch belong to an ancestor. Any thread;
// as cheap as reading an integer.
std::uint64_t fork_epoch();

// `forget` is called in every child, right after fork(), where only async-signal-safe steps are
// allowed.
void call_in_child(void (*forget)());

// An object of this process, made at its first use, and never destroyed, since threads may use it
// until the process ends. A child of fork() makes another one: a thread that the child does not
// have may have locked its parent's. Any thread.
template <typename Object>
class OfProcess {
 public:
  static Object& instance() {
    static const bool registered = (call_in_child([] { object_.store(nullptr); }), true);
    (void)registered;
    Object* found = object_.load();
    if (found != nullptr) return *found;
    auto* const fresh = new Object();
    if (object_.compare_exchange_strong(found, fresh)) return *fresh;
    delete fresh;
    return *found;
  }
  // Null: it has not been used.
  static Object* existing() { return object_.load(); }

 private:
  static inline std::atomic<Object*> object_{nullptr};
};

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

// What to do about an error of a system call that a limit of the process or the machine explains,
// such as "raise `ulimit -n`"; empty for other errors. `error`: its errno. EAGAIN is taken for a
// refused thread or process.
std::string limit_hint(int error);

// "socket: Too many open files (the process may open no more files: raise `ulimit -n`)".
std::string limit_text(const std::string& call, int error);

// The system gives this process no more descriptors, threads, processes or memory.
class LimitReached : public std::runtime_error {
 public:
  // `call`: the system call. what(): limit_text().
  LimitReached(const std::string& call, int error)
      : std::runtime_error(limit_text(call, error)), error_(error) {}

  int error() const { return error_; }  // its errno

 private:
  int error_;
};

}  // namespace holdfast
