// Many threads and event loops on a few locks of a real server; for the sanitizers above all.

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "locks/engine/client.h"
#include "locks/engine/completion_queue.h"
#include "locks/engine/engine.h"
#include "locks/engine/lock.h"
#include "locks/sync/recipes/kinds.h"
#include "redis/net/support.h"
#include "support/real_server.h"
#include "support/world.h"

namespace holdfast::engine {
namespace {

using simulation::Random;
using sync::Verdict;

constexpr std::size_t kLocks = 3;
constexpr int kThreads = 16;
// Longer than the test: whatever is left behind by a client stays, and ends the timeout of the
// others.
constexpr Lease kLease{Millis(600000), true};
constexpr Millis kTimeout{30000};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kRounds = 60;
#else
constexpr int kRounds = 200;
#endif

// Counts the owners inside each lock: never two at once.
class Rooms {
 public:
  void enter(std::size_t room) {
    EXPECT_EQ(inside_[room].fetch_add(1), 0) << "two are inside";
    ++visits;
  }
  void leave(std::size_t room) { inside_[room].fetch_sub(1); }

  std::atomic<int> visits{0};

 private:
  std::array<std::atomic<int>, kLocks> inside_{};
};

std::shared_ptr<Client> client_of(const net::RealServer& server, bool asynchronous) {
  ClientOptions options;
  options.endpoint.addresses = {server.address()};
  options.lease = kLease;
  options.asynchronous = asynchronous;
  return std::make_shared<Client>(options);
}

Lock lock_of(const std::shared_ptr<Client>& client, std::size_t room) {
  return Lock(client, sync::lock_recipe(), "room" + std::to_string(room));
}

// Stops a wait now and then, as Ctrl-C does.
class Impatience final : public sync::Interrupt {
 public:
  explicit Impatience(Random& random) : random_(random) {}
  bool pending() override { return random_.chance(200); }

 private:
  Random& random_;
};

// A thread that waits for what it asks for.
void visit_by_thread(const std::shared_ptr<Client>& client, Rooms& rooms, std::uint64_t seed) {
  Random random(seed);
  Impatience impatience(random);
  const OwnerNumber owner = current_thread_owner();
  for (int i = 0; i < kRounds; ++i) {
    const std::size_t room = random.below(kLocks);
    const Lock lock = lock_of(client, room);
    Lock::AcquireArguments attempt{owner, kLease};
    attempt.blocking = !random.chance(200);
    const bool hasty = random.chance(300);
    attempt.timeout = hasty ? random.between(Millis(0), Millis(20)) : Duration(kTimeout);
    const auto got = lock.acquire(attempt)->wait(random.chance(300) ? &impatience : nullptr);
    if (!got) continue;
    EXPECT_TRUE(hasty || got->verdict != Verdict::kTimedOut) << "a lock is held without an owner";
    EXPECT_NE(got->verdict, Verdict::kFailed) << got->why.message();
    if (got->verdict != Verdict::kGranted) continue;
    rooms.enter(room);
    rooms.leave(room);
    const auto released =
        lock.release(owner, {/*all=*/false, /*deferred=*/random.chance(500)})->wait(nullptr);
    EXPECT_EQ(released->verdict, Verdict::kGranted) << released->why.message();
  }
}

// A thread of a client that is closed under it. What it held then runs out.
void visit_until_closed(const std::shared_ptr<Client>& client, std::uint64_t seed) {
  Random random(seed);
  const OwnerNumber owner = current_thread_owner();
  while (!client->closed()) {
    const Lock lock = lock_of(client, random.below(kLocks));
    const Lock::AcquireArguments attempt{owner, {Millis(1000), false}};
    const auto got = lock.acquire(attempt)->wait(nullptr);
    EXPECT_TRUE(got->verdict != Verdict::kFailed || client->closed()) << got->why.message();
    if (got->verdict != Verdict::kGranted) continue;
    (void)lock.release(owner, {/*all=*/false, /*deferred=*/random.chance(500)})->wait(nullptr);
  }
}

// A thread with an event loop: a few tasks at a time, which are cancelled now and then.
class LoopOfTasks {
 public:
  LoopOfTasks(std::shared_ptr<Client> client, Rooms& rooms, std::uint64_t seed)
      : client_(std::move(client)), rooms_(rooms), random_(seed) {}

  void run() {
    for (int i = 0; i < 4; ++i) begin();
    while (!tasks_.empty()) {
      pollfd wanted{queue_->fd(), POLLIN, 0};
      ASSERT_EQ(::poll(&wanted, 1, 30000), 1) << "an operation does not end";
      std::vector<CompletionQueue::Done> ended;
      queue_->drain(ended);
      for (auto& [id, outcome] : ended) done(id, outcome);
      if (random_.chance(100)) cancel_one();
    }
  }

 private:
  struct Task {
    OwnerNumber owner;
    std::size_t room;
    sync::ExchangePtr operation;
    bool releasing;
  };

  void begin() {
    if (rounds_-- <= 0) return;
    const std::size_t room = random_.below(kLocks);
    const OwnerNumber owner = next_owner_number();
    Lock::AcquireArguments attempt{owner, kLease};
    attempt.blocking = !random_.chance(100);
    if (random_.chance(300)) attempt.timeout = random_.between(Millis(0), Millis(20));
    start({owner, room, lock_of(client_, room).acquire(attempt), false});
  }

  void start(Task task) {
    const auto operation = task.operation;
    tasks_.emplace(++ids_, std::move(task));
    operation->finish_to(queue_, ids_);
  }

  void done(std::uint64_t id, const sync::Outcome& outcome) {
    const auto found = tasks_.find(id);
    if (found == tasks_.end()) return;  // cancelled
    const Task task = found->second;
    tasks_.erase(found);
    if (task.releasing) {
      EXPECT_EQ(outcome.verdict, Verdict::kGranted) << outcome.why.message();
      return begin();
    }
    EXPECT_NE(outcome.verdict, Verdict::kFailed) << outcome.why.message();
    if (outcome.verdict != Verdict::kGranted) return begin();
    rooms_.enter(task.room);
    rooms_.leave(task.room);
    start({task.owner, task.room,
           lock_of(client_, task.room).release(task.owner, Lock::ReleaseMode{}), true});
  }

  void cancel_one() {
    for (auto& [id, task] : tasks_) {
      if (task.releasing) continue;
      const auto operation = task.operation;
      tasks_.erase(id);
      operation->cancel();
      return begin();
    }
  }

  const std::shared_ptr<Client> client_;
  Rooms& rooms_;
  Random random_;
  const std::shared_ptr<CompletionQueue> queue_ = std::make_shared<CompletionQueue>();
  std::map<std::uint64_t, Task> tasks_;
  std::uint64_t ids_ = 0;
  int rounds_ = 2 * kRounds;
};

TEST(StressTest, ThreadsAndLoopsNeverMeetInsideALock) {
  if (!net::RealServer::installed()) GTEST_SKIP() << "no redis-server or valkey-server on PATH";
  const net::RealServer server;
  Rooms rooms;
  const std::array<std::shared_ptr<Client>, 2> sync{client_of(server, false),
                                                    client_of(server, false)};
  const std::array<std::shared_ptr<Client>, 2> async{client_of(server, true),
                                                     client_of(server, true)};
  const auto doomed = client_of(server, false);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const std::size_t which = seed % 2;
    threads.emplace_back([&, i, seed, which] {
      if (i < 2) {
        visit_until_closed(doomed, seed);
      } else if (i < 10) {
        visit_by_thread(sync[which], rooms, seed);
      } else {
        LoopOfTasks(async[which], rooms, seed).run();
      }
    });
  }
  EXPECT_TRUE(net::eventually([&] { return rooms.visits > 100; }));
  EXPECT_LE(doomed->close(Millis(0))->names().size(), kLocks);
  for (std::thread& thread : threads) thread.join();
  for (std::size_t room = 0; room < kLocks; ++room) {
    const Lock lock = lock_of(sync[0], room);
    EXPECT_TRUE(net::eventually([&] { return lock.locked()->wait(nullptr)->value == 0; })) << room;
  }
  for (const auto& client : {sync[0], sync[1], async[0], async[1]}) {
    EXPECT_TRUE(client->close(Millis(0))->names().empty());
  }
}

}  // namespace
}  // namespace holdfast::engine
