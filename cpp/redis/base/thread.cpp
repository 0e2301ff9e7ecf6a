#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include "redis/base/process.h"

#ifdef __linux__
#include <sys/eventfd.h>
#include <sys/syscall.h>
#else
#include <fcntl.h>
#include <mach/mach.h>
#include <sys/event.h>
#endif

namespace holdfast {

namespace {

// Blocks all signals of this thread while it lives; a thread started meanwhile inherits that.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

#ifdef __linux__

bool exists(int thread_id) { return ::syscall(SYS_tgkill, ::getpid(), thread_id, 0) == 0; }

#else  // built for macOS, but never run there

bool exists(int thread_id) {
  thread_basic_info info{};
  mach_msg_type_number_t size = THREAD_BASIC_INFO_COUNT;
  return ::thread_info(static_cast<thread_inspect_t>(thread_id), THREAD_BASIC_INFO,
                       reinterpret_cast<thread_info_t>(&info), &size) == KERN_SUCCESS;
}

#endif

}  // namespace

std::thread start_thread(const std::string& name, std::function<void()> body) {
  const SignalsBlocked blocked;
  try {
    return std::thread([name = name.substr(0, 15), body = std::move(body)] {
#ifdef __linux__
      pthread_setname_np(pthread_self(), name.c_str());
#else
      pthread_setname_np(name.c_str());
#endif
      body();
    });
  } catch (const std::system_error& error) {
    throw LimitReached("no thread", error.code().value());
  }
}

#ifdef __linux__

int this_thread_id() { return static_cast<int>(::syscall(SYS_gettid)); }

bool on_main_thread() { return this_thread_id() == ::getpid(); }

Descriptor make_wake_up() { return Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void wake(int fd) { ::eventfd_write(fd, 1); }

bool clear_wake_up(int fd) {
  eventfd_t ignored = 0;
  return ::eventfd_read(fd, &ignored) == 0;
}

#else

int this_thread_id() { return static_cast<int>(::pthread_mach_thread_np(::pthread_self())); }

bool on_main_thread() { return ::pthread_main_np() != 0; }

namespace {

void submit(int queue, unsigned flags, unsigned notes) {
  struct kevent change {};
  change.filter = EVFILT_USER;
  change.flags = static_cast<decltype(change.flags)>(flags);
  change.fflags = notes;
  ::kevent(queue, &change, 1, nullptr, 0, nullptr);
}

}  // namespace

// A queue with a pending event is readable; to receive the event clears it.
Descriptor make_wake_up() {
  Descriptor queue(::kqueue());
  if (!queue.open()) return queue;
  ::fcntl(queue.get(), F_SETFD, FD_CLOEXEC);
  submit(queue.get(), EV_ADD | EV_CLEAR, 0);
  return queue;
}

void wake(int fd) { submit(fd, 0, NOTE_TRIGGER); }

bool clear_wake_up(int fd) {
  struct kevent ignored {};
  const timespec now{0, 0};
  return ::kevent(fd, nullptr, 0, &ignored, 1, &now) > 0;
}

#endif

void await_exit(int thread_id) {
  constexpr int kLooks = 200;
  constexpr auto kLook = std::chrono::microseconds(50);
  for (int look = 0; look < kLooks && exists(thread_id); ++look) {
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace holdfast
