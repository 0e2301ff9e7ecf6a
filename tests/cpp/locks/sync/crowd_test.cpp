// How long clients wait for a lock that all of them take and release as fast as they can.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "locks/sync/recipes/backoff.h"

namespace holdfast::sync {
namespace {

// A model of a server, and of clients of one owner each: of the waiting of AcquireMachine, and of
// WaitRegistry's courtesy, with StandBack itself. It has its own time.
class Crowd {
 public:
  // `ways`: of each client, how long a message is on its way.
  Crowd(const std::vector<Duration>& ways, std::uint64_t seed) : random_(seed) {
    for (const Duration way : ways) clients_.push_back({way});
    for (std::size_t i = 0; i < clients_.size(); ++i) begin(i, false);
  }

  void run(Duration time) {
    while (!events_.empty() && events_.top().when < TimePoint(time)) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.when;
      event.what();
    }
  }

  std::size_t grants() const { return grants_; }
  Duration longest_wait() const { return longest_wait_; }

 private:
  enum class State { kAsleep, kTrying, kHolding };
  struct Client {
    Duration way;
    State state = State::kTrying;
    StandBack stand_back{0};
    bool signalled = false;
    bool woken = false;
    bool subscribed = false;
    TimePoint begun{};
    TimePoint sent{};
    std::int64_t others = 0;
    std::uint64_t sleep = 0;  // its number: a timer of an earlier one is void
  };
  struct Event {
    TimePoint when;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return when != other.when ? when > other.when : number > other.number;
    }
  };
  static constexpr Duration kService = std::chrono::microseconds(10);  // of a command
  static constexpr Duration kCourtesy = std::chrono::milliseconds(2);

  void in(Duration delay, std::function<void()> what) {
    events_.push({now_ + delay, ++numbers_, std::move(what)});
  }
  // Half to one and a half times the usual.
  Duration way(std::size_t i) {
    const double usual = static_cast<double>(clients_[i].way.count());
    return Duration(static_cast<Duration::rep>(usual * (0.5 + random_.next())));
  }
  // The server executes one command after the other.
  void send(std::size_t i, std::function<void()> command) {
    in(way(i), [this, command = std::move(command)] {
      busy_until_ = std::max(busy_until_, now_) + kService;
      in(busy_until_ - now_, command);
    });
  }

  // `behind`: others were waiting at its release, and go first.
  void begin(std::size_t i, bool behind) {
    Client& client = clients_[i];
    client.begun = now_;
    client.signalled = false;
    client.stand_back = StandBack(grants_ * clients_.size() + i);
    behind ? sleep(i, now_ + kCourtesy, [this, i] { attempt(i, false); }) : attempt(i, false);
  }

  void attempt(std::size_t i, bool woken) {
    Client& client = clients_[i];
    ++client.sleep;
    client.state = State::kTrying;
    client.signalled = false;
    client.woken = woken;
    client.stand_back.end();
    client.sent = now_;
    send(i, [this, i] {
      const bool granted = !std::exchange(held_, true);
      clients_[i].subscribed = true;
      in(way(i), [this, i, granted] { granted ? hold(i) : refused(i); });
    });
  }

  void hold(std::size_t i) {
    ++grants_;
    longest_wait_ = std::max(longest_wait_, now_ - clients_[i].begun);
    clients_[i].state = State::kHolding;
    send(i, [this, i] {
      held_ = false;
      const std::int64_t others = publish(i);
      in(way(i), [this, i, others] {
        clients_[i].others = others;
        begin(i, others > 0);
      });
    });
  }

  std::int64_t publish(std::size_t from) {
    std::int64_t others = 0;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (i == from || !clients_[i].subscribed) continue;
      ++others;
      in(way(i), [this, i] { message(i); });
    }
    return others;
  }

  void refused(std::size_t i) {
    Client& client = clients_[i];
    if (client.woken || client.signalled) {
      client.stand_back.refused(now_ - client.sent, client.others, now_);
    }
    wait(i);
  }

  void wait(std::size_t i) {
    const Client& client = clients_[i];
    if (client.signalled && !client.stand_back.under_way()) return attempt(i, true);
    sleep(i, client.stand_back.until(), [this, i] {
      clients_[i].stand_back.end_by(now_);
      wait(i);
    });
  }

  void sleep(std::size_t i, TimePoint until, std::function<void()> then) {
    clients_[i].state = State::kAsleep;
    const std::uint64_t number = ++clients_[i].sleep;
    if (until == kNever) return;
    in(until - now_, [this, i, number, then = std::move(then)] {
      if (clients_[i].sleep == number) then();
    });
  }

  void message(std::size_t i) {
    Client& client = clients_[i];
    if (client.state == State::kHolding) return;
    const bool listens = client.state == State::kAsleep && !client.stand_back.under_way();
    if (listens) return attempt(i, true);
    client.signalled = true;
  }

  Jitter random_;
  std::vector<Client> clients_;
  std::priority_queue<Event> events_;
  TimePoint now_{};
  TimePoint busy_until_{};
  std::uint64_t numbers_ = 0;
  bool held_ = false;
  std::size_t grants_ = 0;
  Duration longest_wait_{};
};

constexpr Duration kNear = std::chrono::microseconds(100);
constexpr Duration kFar = std::chrono::milliseconds(1);
constexpr Duration kTime = std::chrono::seconds(20);

Duration longest_wait(const std::vector<Duration>& ways) {
  Duration longest{};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Crowd crowd(ways, seed);
    crowd.run(kTime);
    longest = std::max(longest, crowd.longest_wait());
  }
  return longest;
}

TEST(CrowdTest, OfThreeClientsNoneWaitsLong) {
  EXPECT_LE(longest_wait({kNear, kNear, kNear}), Millis(10));
}

TEST(CrowdTest, OneThatIsFarAwayIsNotHeldBackBesides) {
  EXPECT_LE(longest_wait({kNear, kNear, kFar}), Millis(60));
}

TEST(CrowdTest, ManyClientsGetTheLockAsOftenAsFew) {
  Crowd few({kNear, kNear, kNear}, 1);
  few.run(kTime);
  Crowd many(std::vector<Duration>(16, kNear), 1);
  many.run(kTime);
  EXPECT_GE(many.grants(), few.grants());
}

}  // namespace
}  // namespace holdfast::sync
