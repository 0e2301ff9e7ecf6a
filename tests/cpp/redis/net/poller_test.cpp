#include "redis/net/poller.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "redis/net/support.h"

namespace holdfast::net {
namespace {

std::pair<Descriptor, Descriptor> pair_of_sockets() {
  int fds[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0) {
    throw std::runtime_error("socketpair");
  }
  return {Descriptor(fds[0]), Descriptor(fds[1])};
}

Interest readable(int fd) {
  Interest interest;
  interest.fd = fd;
  interest.read = true;
  return interest;
}

Interest writable(int fd) {
  Interest interest;
  interest.fd = fd;
  interest.write = true;
  return interest;
}

using Ready = std::vector<Poller::Watch*>;

Ready look(Poller& poller) {
  Ready ready;
  poller.wait(false, ready);
  return ready;
}

TEST(Poller, ReportsWhatIsReady) {
  Poller poller;
  auto [near, far] = pair_of_sockets();
  Poller::Watch watch;
  ASSERT_TRUE(poller.update(watch, readable(near.get())));
  EXPECT_EQ(look(poller), Ready{});
  ASSERT_EQ(write(far.get(), "x", 1), 1);
  EXPECT_EQ(look(poller), Ready{&watch});
  EXPECT_EQ(look(poller), Ready{&watch}) << "until it is read";
  ASSERT_TRUE(poller.update(watch, Interest()));
  EXPECT_EQ(look(poller), Ready{});
  ASSERT_TRUE(poller.update(watch, writable(near.get())));
  EXPECT_EQ(look(poller), Ready{&watch});
  poller.drop(watch);
  Ready ready;
  poller.set_alarm(Millis(1));
  EXPECT_TRUE(poller.wait(true, ready)) << "not by what is no longer watched";
  EXPECT_EQ(ready, Ready{});
}

TEST(Poller, ReportsThatThePeerHungUpWithoutReading) {
  Poller poller;
  auto [near, far] = pair_of_sockets();
  Interest hangup;
  hangup.fd = near.get();
  hangup.hangup = true;
  Poller::Watch watch;
  ASSERT_TRUE(poller.update(watch, hangup));
  ASSERT_EQ(write(far.get(), "x", 1), 1);
  EXPECT_EQ(look(poller), Ready{}) << "only a hang-up is reported, not bytes to read";
  far.reset();
  EXPECT_EQ(look(poller), Ready{&watch});
}

TEST(Poller, AWakeUpEndsTheNextWaitOnce) {
  Poller poller;
  poller.wake();
  poller.wake();
  Ready ready;
  EXPECT_FALSE(poller.wait(true, ready));
  EXPECT_EQ(ready, Ready{});
  poller.set_alarm(Millis(1));
  EXPECT_TRUE(poller.wait(true, ready)) << "not by the wake-ups again";
}

TEST(Poller, AnAlarmOfNoDelayStillGoesOff) {
  Poller poller;
  poller.set_alarm(Duration::zero());
  Ready ready;
  EXPECT_TRUE(poller.wait(true, ready));
}

TEST(Poller, IsWokenFromAnotherThread) {
  Poller poller;
  std::thread waker([&poller] { poller.wake(); });
  Ready ready;
  EXPECT_FALSE(poller.wait(true, ready));
  waker.join();
}

TEST(Poller, NoticesAnotherDescriptorOfTheSameNumber) {
  Poller poller;
  Poller::Watch watch;
  auto [near, far] = pair_of_sockets();
  const int number = near.get();
  ASSERT_TRUE(poller.update(watch, readable(number)));
  near.reset();
  far.reset();
  auto [next_near, next_far] = pair_of_sockets();
  ASSERT_EQ(next_near.get(), number);
  ASSERT_TRUE(poller.update(watch, readable(number)));
  ASSERT_EQ(write(next_far.get(), "x", 1), 1);
  EXPECT_EQ(look(poller), Ready{&watch});
}

TEST(Poller, NoticesThatTooWithoutDescriptors) {
  Poller poller;
  Poller::Watch watch;
  int fds[2] = {-1, -1};
  ASSERT_EQ(pipe(fds), 0);
  const int number = fds[0];
  ASSERT_TRUE(poller.update(watch, readable(number)));
  close(fds[0]);
  close(fds[1]);
  ASSERT_EQ(pipe(fds), 0);
  ASSERT_EQ(fds[0], number);
  ASSERT_TRUE(poller.update(watch, readable(number)));
  ASSERT_EQ(write(fds[1], "x", 1), 1);
  EXPECT_EQ(look(poller), Ready{&watch});
  close(fds[0]);
  close(fds[1]);
}

TEST(Poller, ANumberPassesToAnotherWatch) {
  Poller poller;
  Poller::Watch first;
  Poller::Watch second;
  auto [near, far] = pair_of_sockets();
  const int number = near.get();
  ASSERT_TRUE(poller.update(first, readable(number)));
  near.reset();
  auto [next_near, next_far] = pair_of_sockets();
  ASSERT_EQ(next_near.get(), number);
  ASSERT_TRUE(poller.update(second, readable(number)));
  poller.drop(first);
  ASSERT_EQ(write(next_far.get(), "x", 1), 1);
  EXPECT_EQ(look(poller), Ready{&second});
}

TEST(Poller, RefusesADescriptorThatIsClosed) {
  Poller poller;
  Poller::Watch watch;
  const int closed = pair_of_sockets().first.get();
  EXPECT_FALSE(poller.update(watch, readable(closed)));
  poller.drop(watch);
}

// As in a child of fork() that does not close the sockets that it inherited: the kernel goes on
// reporting a socket that this process cannot remove from its set any more.
class PollerOfAnInheritedSocket : public testing::Test {
 protected:
  void SetUp() override {
    auto [near, far] = pair_of_sockets();
    inherited = Descriptor(dup(near.get()));
    ASSERT_TRUE(poller.update(dead, readable(near.get())));
    ASSERT_TRUE(poller.update(alive, readable(other.first.get())));
    near.reset();
    poller.drop(dead);
    ASSERT_EQ(write(far.get(), "x", 1), 1);
    far_end = std::move(far);
  }

  Poller poller;
  Poller::Watch dead;
  Poller::Watch alive;
  std::pair<Descriptor, Descriptor> other = pair_of_sockets();
  Descriptor inherited;
  Descriptor far_end;
};

TEST_F(PollerOfAnInheritedSocket, DoesNotSpinWhereAnotherProcessKeepsItOpen) {
  Ready ready;
  poller.set_alarm(Millis(20));
  int waits = 1;
  while (!poller.wait(true, ready)) ++waits;
  EXPECT_LE(waits, 2);
  EXPECT_EQ(ready, Ready{});
  ASSERT_EQ(write(other.second.get(), "x", 1), 1);
  EXPECT_EQ(look(poller), Ready{&alive}) << "the others are still watched";
  poller.wake();
  EXPECT_FALSE(poller.wait(true, ready));
}

// The process has no descriptor left for a new set.
TEST_F(PollerOfAnInheritedSocket, DoesNotSpinWhileTheSystemGivesNoDescriptors) {
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{0, usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);

  Ready ready;
  poller.set_alarm(Millis(100));
  int waits = 1;
  while (!poller.wait(true, ready)) ++waits;
  EXPECT_LE(waits, 25);
  EXPECT_EQ(ready, Ready{});
  ASSERT_EQ(write(other.second.get(), "x", 1), 1);
  EXPECT_EQ(look(poller), Ready{&alive}) << "the others are still watched";

  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(look(poller), Ready{&alive});
  poller.drop(alive);
  poller.set_alarm(Millis(20));
  EXPECT_TRUE(poller.wait(true, ready)) << "not by the dead one again";
}

}  // namespace
}  // namespace holdfast::net
