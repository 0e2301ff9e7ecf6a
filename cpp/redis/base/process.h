#pragma once

// What a process gets of the system, and what is left of it in a child of fork(): descriptors,
// threads, CPUs, and what limits them.

#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

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

// The advice for an error of a system call that a limit of the process or the machine explains,
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

// A number that is unique to the Descriptor which has `fd` open now; 0 where there is none.
// Thread-safe.
std::uint64_t serial_of(int fd);

// Owns a file descriptor and closes it. Its number is 3 or more: 0, 1 and 2 are the program's, also
// where it has closed them. A child of fork() closes the descriptors that it inherits before
// anything else of the library runs there, and never writes to them; their Descriptors may be
// destroyed in the child, which closes nothing more. For that each is entered in a lock-free table.
// Its serial there distinguishes a descriptor from a later one of the same number.
//
// All that the engine and the guard open is a Descriptor from the call on that opens it:
// `Descriptor(::socket(…))`. The lint step `descriptors` checks that.
class Descriptor {
 public:
  Descriptor() = default;
  // Takes ownership of what a call has just opened, and moves it if its number is the program's;
  // until then, for two system calls, what the program writes to that number arrives there. A
  // negative one means none; so does one that cannot be moved, with errno.
  explicit Descriptor(int fd);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }

  // The number; -1 when there is none, and in a child of fork() of its parent's.
  int get() const { return serial_ == 0 || serial_of(fd_) == serial_ ? fd_ : -1; }
  bool open() const { return get() >= 0; }

  // Closes it, unless this is a child of fork(), which has done so.
  void reset();

 private:
  int fd_ = -1;
  std::uint64_t serial_ = 0;
};

// A thread of the library: it blocks all signals from its first instruction on (they are for the
// application's threads) and is named for debuggers (the first 15 bytes of `name`). Throws
// LimitReached where the system gives no more threads.
std::thread start_thread(const std::string& name, std::function<void()> body);

// The system's id of the calling thread.
int this_thread_id();

// Whether the calling thread is the one that the process began with, or that called fork().
bool on_main_thread();

// Waits until the system no longer counts a thread that has returned, which is some 10 ms after the
// join at most.
void await_exit(int thread_id);

// A descriptor that is readable from wake() until clear_wake_up(): an eventfd on Linux, a kqueue
// elsewhere.

// None, with errno, where the system gives none.
Descriptor make_wake_up();
// Any thread.
void wake(int fd);
// False: it was not readable.
bool clear_wake_up(int fd);

// How many CPUs this process may use at a time, 1 at least: those of its affinity, and no more than
// the quota of its cgroup, rounded up to a whole one (`cpu.max` of cgroup v2, `cpu.cfs_quota_us` of
// v1). Reads a few small files. Any thread.
int usable_cpus();

}  // namespace holdfast
