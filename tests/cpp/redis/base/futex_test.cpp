// The promise of redis/base/futex.h: run over the kernel's futex, and over the one of other
// systems.

#include "redis/base/futex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "redis/base/sync_points.h"

namespace holdfast {
namespace {

constexpr Duration kLong = std::chrono::seconds(60);
constexpr std::uint32_t kAny = ~std::uint32_t{0};

// A thread that sleeps on `word` until it has returned from a wait for `bits`.
class Sleeper {
 public:
  Sleeper(const FutexWord& word, std::uint32_t bits)
      : thread_([this, &word, bits] {
          futex_wait(word, 0, bits, kLong);
          awake_ = true;
        }) {}
  ~Sleeper() { thread_.join(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  bool awake() const { return awake_; }

 private:
  std::atomic<bool> awake_{false};
  std::thread thread_;
};

// Wakes until the sleeper, which may not sleep yet, has returned.
void wake_until_awake(const FutexWord& word, std::uint32_t bits, const Sleeper& sleeper) {
  while (!sleeper.awake()) {
    futex_wake(word, bits);
    std::this_thread::yield();
  }
}

TEST(Futex, DoesNotSleepOnAnotherValue) {
  const SystemClock clock;
  const TimePoint begun = clock.now();
  const FutexWord word{1};
  futex_wait(word, 0, kAny, kLong);
  EXPECT_LT(clock.now(), begun + kLong);
}

TEST(Futex, ReturnsWhenItsTimeIsOver) {
  const SystemClock clock;
  const FutexWord word{0};
  const TimePoint until = clock.now() + Millis(2);
  while (clock.now() < until) futex_wait(word, 0, kAny, until - clock.now());
  futex_wait(word, 0, kAny, Duration::zero());
  futex_wait(word, 0, kAny, Duration(-1));
}

TEST(Futex, AWakeUpReachesAllOfItsBitsOnItsWord) {
  const std::array<FutexWord, 65> words{};
  const FutexWord& word = words.front();
  const FutexWord& other_word = words.back();  // at the same place of a table of 64
  Sleeper elsewhere(other_word, kAny);
  Sleeper first(word, 0b001);
  Sleeper second(word, 0b011);
  Sleeper other_bit(word, 0b100);
  wake_until_awake(word, 0b001, first);
  wake_until_awake(word, 0b001, second);
  EXPECT_FALSE(other_bit.awake());
  EXPECT_FALSE(elsewhere.awake());
  wake_until_awake(word, 0b110, other_bit);
  EXPECT_FALSE(elsewhere.awake());
  wake_until_awake(other_word, kAny, elsewhere);
}

// More words than a table has places for; each sleeper is woken by the change of its word.
TEST(Futex, NoChangeOfAWordIsMissed) {
  constexpr std::size_t kWords = 100;
  constexpr std::uint32_t kTurns = 100;
  std::array<FutexWord, kWords> asked{};
  std::array<FutexWord, kWords> answered{};
  const auto await = [](FutexWord& word, std::uint32_t wanted) {
    for (std::uint32_t seen = word.load(); seen != wanted; seen = word.load()) {
      futex_wait(word, seen, 1, kLong);
    }
  };
  const auto set = [](FutexWord& word, std::uint32_t value) {
    word.store(value);
    futex_wake(word, 1);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kWords; ++i) {
    threads.emplace_back([&, i] {
      for (std::uint32_t turn = 1; turn <= kTurns; ++turn) {
        await(asked[i], turn);
        set(answered[i], turn);
      }
    });
  }
  for (std::uint32_t turn = 1; turn <= kTurns; ++turn) {
    for (FutexWord& word : asked) set(word, turn);
    for (FutexWord& word : answered) await(word, turn);
  }
  for (std::thread& thread : threads) thread.join();
}

// A child of fork() has the table as another thread may have left it, but not the sleepers.
TEST(Futex, AChildOfForkSleepsAndWakesOnItsParentsWords) {
  const FutexWord word{0};
  Sleeper sleeper(word, kAny);
  std::atomic<bool> stop{false};
  std::thread waker([&] {
    while (!stop) futex_wake(word, 0);
  });
  for (int i = 0; i < 20 && !HasFailure(); ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);
      futex_wait(word, 0, kAny, Millis(1));
      futex_wake(word, kAny);
      ::_exit(0);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  waker.join();
  wake_until_awake(word, kAny, sleeper);
}

TEST(WholeMillis, AreRoundedUp) {
  EXPECT_EQ(whole_millis({0, 0}), 0);
  EXPECT_EQ(whole_millis({0, 1}), 1);
  EXPECT_EQ(whole_millis({0, 1'000'000}), 1);
  EXPECT_EQ(whole_millis({2, 1'000'001}), 2002);
  EXPECT_EQ(whole_millis({86'400, 0}), 86'400'000);
}

}  // namespace
}  // namespace holdfast
