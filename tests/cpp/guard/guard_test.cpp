#include "guard/guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "guard/held_page.h"
#include "guard/releases.h"
#include "guard/settings.h"
#include "redis/base/process.h"
#include "redis/resp/command.h"
#include "support/direct_client.h"
#include "support/real_server.h"

namespace holdfast::guard {
namespace {

const std::string kOwner = "0b4e2c1a-7f3d-4c5e-9a86-d1f2b3c4a5e6:37";
const std::string kOther = "0b4e2c1a-7f3d-4c5e-9a86-d1f2b3c4a5e6:38";
constexpr std::uint8_t kLock = 0;
constexpr std::uint8_t kFairLock = 1;
constexpr std::uint8_t kWriteLock = 5;
constexpr Millis kBound{5000};
// How long something that must not happen is given to happen.
constexpr Millis kQuiet{300};

TimePoint soon(Millis time = kBound) { return SystemClock().now() + time; }

class GuardTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!net::RealServer::installed()) GTEST_SKIP() << "neither redis-server nor valkey-server";
    server_ = std::make_unique<net::RealServer>();
    settings_.endpoint.addresses = {server_->address()};
    settings_.publish = "publish";
    connection_ = std::make_unique<DirectClient>(server_->address());
  }

  void TearDown() override {
    if (program_ > 0) kill(program_, SIGKILL);
    if (program_ > 0) waitpid(program_, nullptr, 0);
  }

  resp::Reply ask(const resp::Command& command) const { return ask(*connection_, command); }
  static resp::Reply ask(DirectClient& client, const resp::Command& command) {
    auto reply = client.ask(command);
    EXPECT_TRUE(reply.ok()) << reply.status().message();
    return std::move(reply.value());
  }

  // As a hold of a lock of this owner looks on the server.
  void hold(const std::string& name, const std::string& owner = kOwner) const {
    ask({"HSET", name, owner, "1"});
    ask({"PEXPIRE", name, "60000"});
  }
  bool held(const std::string& name) const { return ask({"EXISTS", name}).integer() == 1; }

  static bool eventually(const std::function<bool()>& condition, Millis within = kBound) {
    const TimePoint end = soon(within);
    while (SystemClock().now() < end) {
      if (condition()) return true;
      usleep(500);
    }
    return condition();
  }

  // A program with a guard and this page; `then` is what it goes on with.
  void run(
      const std::function<void(HeldPage&)>& fill, const std::function<void()>& then = [] {}) {
    std::array<int, 2> ready{};
    ASSERT_EQ(pipe2(ready.data(), O_CLOEXEC), 0);
    program_ = fork();
    if (program_ == 0) program(fill, then, ready[1]);
    close(ready[1]);
    char said = 0;
    ASSERT_EQ(read(ready[0], &said, 1), 1) << "the guard has not started";
    close(ready[0]);
  }

  void end(int signal) {
    kill(program_, signal);
    waitpid(program_, nullptr, 0);
    program_ = -1;
  }

  // The guard has come and gone: it has connected, and it is connected no more.
  bool guard_is_done() const {
    return eventually([this] {
      const std::string list(ask({"CLIENT", "LIST"}).text());
      return list.find("cmd=eval") == std::string::npos && !held("orders");
    });
  }

  Settings settings_;
  std::unique_ptr<net::RealServer> server_;

 private:
  [[noreturn]] void program(const std::function<void(HeldPage&)>& fill,
                            const std::function<void()>& then, int ready) const {
    auto page = HeldPage::make(16);
    if (!page.ok()) _exit(1);
    fill(page.value());
    page.value().set_settings(settings_text(settings_));
    const auto guard = Guard::start(HOLDFAST_GUARD);
    if (!guard.ok() || !guard.value()->join("1", page.value().fd()).ok()) _exit(1);
    if (write(ready, "!", 1) != 1) _exit(1);
    then();
    for (;;) pause();
  }

  std::unique_ptr<DirectClient> connection_;
  pid_t program_ = -1;
};

TEST_F(GuardTest, WhatAKilledProgramHeldIsReleasedForItsOwnerOnly) {
  hold("orders");
  hold("fair");
  hold("theirs", kOther);
  ask({"HSET", "written", "mode", "write", kOwner + ":write", "1"});
  run([](HeldPage& page) {
    page.put(HeldRecord{kLock, "orders", kOwner, soon()});
    page.put(HeldRecord{kFairLock, "fair", kOwner, soon()});
    page.put(HeldRecord{kWriteLock, "written", kOwner, soon()});
    page.put(HeldRecord{kLock, "theirs", kOwner, soon()});
  });
  EXPECT_TRUE(held("orders"));
  end(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !held("orders") && !held("fair") && !held("written"); }));
  EXPECT_TRUE(held("theirs"));
}

TEST_F(GuardTest, WaitersAreWoken) {
  hold("orders");
  DirectClient waiter(server_->address());
  ask(waiter, {"SUBSCRIBE", "redisson_lock__channel:{orders}"});
  run([](HeldPage& page) { page.put(HeldRecord{kLock, "orders", kOwner, soon()}); });
  end(SIGSEGV);
  const auto message = waiter.next();
  ASSERT_TRUE(message.ok()) << message.status().message();
  EXPECT_EQ(message.value().text_at(2), "0");
}

TEST_F(GuardTest, APermitIsGivenBack) {
  const std::string permit = "0123456789abcdef";
  ask({"SET", "permits", "0"});
  ask({"ZADD", "{permits}:timeout", "99999999999999", permit});
  run([&](HeldPage& page) {
    page.put(HeldRecord{HeldRecord::kPermit, "permits", permit, soon()});
  });
  end(SIGABRT);
  EXPECT_TRUE(eventually([&] { return ask({"GET", "permits"}).text() == "1"; }));
}

TEST_F(GuardTest, WhatIsOverOrWasGivenAwayIsNotTouched) {
  for (const char* name : {"orders", "expired", "detached"}) hold(name);
  run([](HeldPage& page) {
    page.put(HeldRecord{kLock, "expired", kOwner, SystemClock().now()});
    page.remove(*page.put(HeldRecord{kLock, "detached", kOwner, soon()}));
    page.put(HeldRecord{kLock, "orders", kOwner, soon()});
  });
  end(SIGKILL);
  EXPECT_TRUE(guard_is_done());
  EXPECT_TRUE(held("expired"));
  EXPECT_TRUE(held("detached"));
}

TEST_F(GuardTest, AProgramThatIsStoppedKeepsItsHolds) {
  hold("orders");
  run(
      [](HeldPage& page) {
        page.put(HeldRecord{kLock, "orders", kOwner, soon(Millis(60000))});
      },
      [] { std::raise(SIGSTOP); });
  EXPECT_FALSE(eventually([&] { return !held("orders"); }, kQuiet));
}

TEST_F(GuardTest, AChildsDeathIsNotTheProgramsAndExecIsNoDeath) {
  hold("orders");
  run(
      [](HeldPage& page) {
        page.put(HeldRecord{kLock, "orders", kOwner, soon(Millis(60000))});
      },
      [] {
        if (fork() == 0) _exit(0);
        execlp("sleep", "sleep", "60", nullptr);
      });
  EXPECT_FALSE(eventually([&] { return !held("orders"); }, kQuiet));
  end(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !held("orders"); }));
}

TEST_F(GuardTest, AnAcquireThatArrivesLateIsReleasedToo) {
  hold("first");
  run([](HeldPage& page) {
    page.put(HeldRecord{kLock, "first", kOwner, soon()});
    page.put(HeldRecord{kLock, "orders", kOwner, soon()});
  });
  end(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !held("first"); }));
  hold("orders");
  EXPECT_TRUE(eventually([&] { return !held("orders"); }));
}

TEST_F(GuardTest, TheProgramsConnectionsAreClosedFirst) {
  hold("orders");
  DirectClient theirs(server_->address());
  settings_.connections = {std::string(ask(theirs, {"CLIENT", "INFO"}).text())};
  run([](HeldPage& page) { page.put(HeldRecord{kLock, "orders", kOwner, soon()}); });
  end(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !held("orders"); }));
  EXPECT_FALSE(theirs.ask({"PING"}).ok());
}

TEST_F(GuardTest, AnotherConnectionWithTheNumberOfTheProgramsIsLeftOpen) {
  hold("orders");
  DirectClient other(server_->address());
  const std::string number = std::to_string(ask(other, {"CLIENT", "ID"}).integer());
  settings_.connections = {"id=" + number + " addr=127.0.0.1:1 laddr=127.0.0.1:2 name=",
                           "id=" + number + " addr=/tmp/socket:0 laddr=/tmp/socket:0 name="};
  run([](HeldPage& page) { page.put(HeldRecord{kLock, "orders", kOwner, soon()}); });
  end(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !held("orders"); }));
  EXPECT_TRUE(other.ask({"PING"}).ok());
}

TEST_F(GuardTest, AServerOutOfReachIsTriedAgain) {
  hold("orders");
  const net::TemporaryDirectory directory;
  settings_.endpoint.addresses = {{"", 0, directory.file("socket")}};
  run([](HeldPage& page) { page.put(HeldRecord{kLock, "orders", kOwner, soon()}); });
  end(SIGKILL);
  EXPECT_FALSE(eventually([&] { return !held("orders"); }, kQuiet));
  ASSERT_EQ(symlink(server_->unix_address().path.c_str(),
                    settings_.endpoint.addresses.front().path.c_str()),
            0);
  EXPECT_TRUE(eventually([&] { return !held("orders"); }));
}

TEST_F(GuardTest, AServerThatRefusesForAWhileIsTriedAgain) {
  hold("orders");
  run([](HeldPage& page) { page.put(HeldRecord{kLock, "orders", kOwner, soon()}); });
  ask({"CONFIG", "SET", "min-replicas-to-write", "1"});
  end(SIGKILL);
  EXPECT_FALSE(eventually([&] { return !held("orders"); }, kQuiet));
  ask({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_TRUE(eventually([&] { return !held("orders"); }));
}

TEST_F(GuardTest, WhatAPipeKeepsIsRenewedUntilItsOtherEndIsClosedByAll) {
  hold("orders");
  hold("gone", kOther);
  const auto left = [this] { return Millis(ask({"PTTL", "orders"}).integer()); };
  constexpr Millis kShort{1500};
  ask({"PEXPIRE", "orders", std::to_string(kShort.count())});
  std::array<int, 2> pipe{};
  ASSERT_EQ(pipe2(pipe.data(), O_CLOEXEC), 0);
  run([&](HeldPage& page) {
    setenv(kKeeperVariable, std::to_string(pipe[0]).c_str(), 1);
    page.put(HeldRecord{kLock, "orders", kOwner, soon(kShort)});
    page.put(HeldRecord{kLock, "gone", kOwner, soon(kShort)});
  });
  close(pipe[0]);
  end(SIGKILL);
  EXPECT_TRUE(eventually([&] { return left() > kShort; }));
  ask({"PEXPIRE", "orders", "3500"});  // the next one, a third of the lease later
  EXPECT_TRUE(eventually([&] { return left() > Millis(4000); }));
  EXPECT_TRUE(held("orders"));
  close(pipe[1]);
  EXPECT_TRUE(eventually([&] { return !held("orders"); }, kQuiet));
  EXPECT_TRUE(held("gone"));
}

// Where it has not connected yet.
TEST(GuardReleasesTest, WhatAProgramHeldThatNamedNoServerIsLeftToItsLease) {
  auto page = HeldPage::make(4);
  ASSERT_TRUE(page.ok());
  (void)page.value().put(HeldRecord{kLock, "myLock", kOwner, soon(Millis(60'000))});
  const auto view = HeldPageView::open(page.value().fd());
  ASSERT_TRUE(view.ok());
  release_all(view.value());
}

TEST(ProcessTest, AWaitForAProcessHasAnEndAndCollectsIt) {
  const int stays = fork();
  if (stays == 0) {
    pause();
    _exit(0);
  }
  const Process process(stays);
  EXPECT_TRUE(process.is_child());
  EXPECT_EQ(process.await_end(Millis(10)), std::nullopt);
  process.kill();
  EXPECT_EQ(process.await_end(kBound), -SIGKILL);
  EXPECT_FALSE(process.is_child());
  EXPECT_EQ(process.await_end(kBound), 0);
}

TEST(ProcessTest, AnotherProcessWithItsNumberIsLeftAlone) {
  const int ends = fork();
  if (ends == 0) _exit(7);
  const Process process(ends);
  int status = 0;
  EXPECT_EQ(waitpid(ends, &status, 0), ends);
  EXPECT_FALSE(process.is_child());
  EXPECT_EQ(process.await_end(kBound), 0);
}

TEST(ProcessTest, AThreadThatHoldsTheInterpreterWaitsForNoProcess) {
  static thread_local bool held = false;
  held = true;
  static const Interpreter interpreter{[] { return held; },
                                       [](const std::function<void()>& body) {
                                         held = false;
                                         body();
                                         held = true;
                                       }};
  set_interpreter(interpreter);
  std::array<int, 2> pair{};
  ASSERT_EQ(pipe(pair.data()), 0);
  EXPECT_THROW((void)readable(pair[0], Millis(0)), std::logic_error);
  without_interpreter([&] { EXPECT_FALSE(readable(pair[0], Millis(0))); });
  held = false;
  EXPECT_FALSE(readable(pair[0], Millis(0)));
  for (const int fd : pair) close(fd);
}

TEST_F(GuardTest, APageThatIsNoneIsRefusedAndNoExecutableIsNoGuard) {
  const auto guard = Guard::start(HOLDFAST_GUARD);
  ASSERT_TRUE(guard.ok()) << guard.status().message();
  const Descriptor other(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Status refused = guard.value()->join("1", other.get());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.message().find("too short"), std::string::npos) << refused.message();
  EXPECT_FALSE(Guard::start("/nowhere").ok());
  EXPECT_TRUE(Guard::possible().ok());
}

TEST_F(GuardTest, TheGuardEndsWithItsLastClient) {
  const auto guard = Guard::start(HOLDFAST_GUARD);
  ASSERT_TRUE(guard.ok()) << guard.status().message();
  std::map<std::string, HeldPage> pages;
  const auto join = [&](const std::string& client) {
    auto page = HeldPage::make(1);
    const int fd = page.value().fd();
    pages.emplace(client, std::move(page.value()));
    return guard.value()->join(client, fd).ok();
  };
  const auto leave = [&](const std::string& client) {
    pages.at(client).set_closed();
    guard.value()->leave(client);
  };
  EXPECT_TRUE(join("1"));
  EXPECT_TRUE(join("2"));
  leave("2");
  EXPECT_TRUE(join("3"));
  leave("3");
  EXPECT_FALSE(guard.value()->ended());
  leave("1");
  EXPECT_TRUE(eventually([&] { return guard.value()->ended(); }));
  EXPECT_FALSE(join("4"));
}

}  // namespace
}  // namespace holdfast::guard
