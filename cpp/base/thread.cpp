#include "base/thread.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <utility>

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

}  // namespace

std::thread start_thread(const std::string& name, std::function<void()> body) {
  const SignalsBlocked blocked;
  return std::thread([name = name.substr(0, 15), body = std::move(body)] {
    pthread_setname_np(pthread_self(), name.c_str());
    body();
  });
}

int this_thread_id() { return static_cast<int>(::syscall(SYS_gettid)); }

void await_exit(int thread_id) {
  constexpr int kLooks = 200;
  constexpr auto kLook = std::chrono::microseconds(50);
  const auto there = [thread_id] { return ::syscall(SYS_tgkill, ::getpid(), thread_id, 0) == 0; };
  for (int look = 0; look < kLooks && there(); ++look) std::this_thread::sleep_for(kLook);
}

}  // namespace holdfast
