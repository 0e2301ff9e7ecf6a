#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "redis/base/mutex.h"
#include "redis/base/process.h"

namespace holdfast {
namespace {

// What a child of fork() says at its end.
int status_of_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool is_open(int fd) { return fcntl(fd, F_GETFD) != -1; }

TEST(Descriptor, LeavesTheNumbersOfTheStandardStreamsToTheProgram) {
  const int status = status_of_child([] {
    for (int fd = 0; fd <= STDERR_FILENO; ++fd) ::close(fd);
    const Descriptor wake_up = make_wake_up();
    const Descriptor file(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (wake_up.get() <= STDERR_FILENO || file.get() <= STDERR_FILENO) return 1;
    if (fcntl(file.get(), F_GETFD) != FD_CLOEXEC) return 2;
    for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
      if (is_open(fd)) return 3;
    }
    wake(wake_up.get());
    return clear_wake_up(wake_up.get()) ? 0 : 4;
  });
  EXPECT_EQ(status, 0);
}

TEST(Descriptor, ThatCannotBeMovedIsNone) {
  const int status = status_of_child([] {
    ::close(STDIN_FILENO);
    rlimit none{};
    getrlimit(RLIMIT_NOFILE, &none);
    none.rlim_cur = STDERR_FILENO + 1;
    setrlimit(RLIMIT_NOFILE, &none);
    const Descriptor wake_up = make_wake_up();
    if (wake_up.open() || errno != EMFILE) return 1;
    return is_open(STDIN_FILENO) ? 2 : 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(Descriptor, OfAPollIsClosedInAChild) {
  Parker parker;
  ASSERT_TRUE(parker.begin_poll());
  const int polled = parker.wake_fd();
  EXPECT_EQ(status_of_child([polled] { return is_open(polled) ? 1 : 0; }), 0);
  parker.end_poll();
  EXPECT_EQ(status_of_child([polled] { return is_open(polled) ? 1 : 0; }), 0) << "as an idle one";
  EXPECT_EQ(status_of_child([&parker] {
              if (!parker.begin_poll()) return 1;
              return is_open(parker.wake_fd()) ? 0 : 2;
            }),
            0)
      << "a child makes another";
}

TEST(Descriptor, IsKnownByASerialWhileItIsOpen) {
  Descriptor first(dup(STDERR_FILENO));
  const int fd = first.get();
  const std::uint64_t serial = serial_of(fd);
  EXPECT_NE(serial, 0U);
  first.reset();
  EXPECT_EQ(serial_of(fd), 0U);
  EXPECT_EQ(first.get(), -1);
  Descriptor second(dup(STDERR_FILENO));
  ASSERT_EQ(second.get(), fd) << "the lowest number is free again";
  EXPECT_NE(serial_of(fd), serial);
}

TEST(Descriptor, ManyAreKnownAndClosedInAChild) {
  const Descriptor beyond_the_first_block(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 5000));
  ASSERT_GE(beyond_the_first_block.get(), 5000) << "ulimit -n is too low for this test";
  const auto closed = [] { return is_open(5000) || !is_open(STDERR_FILENO) ? 1 : 0; };
  EXPECT_EQ(status_of_child(closed), 0);
  EXPECT_NE(fcntl(beyond_the_first_block.get(), F_GETFD), -1);
}

TEST(Descriptor, ThreadsOpenAndCloseAtTheSameTime) {
  const auto work = [] {
    for (int i = 0; i < 2000; ++i) {
      const Descriptor descriptor(dup(STDERR_FILENO));
      EXPECT_TRUE(descriptor.open());
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace holdfast
