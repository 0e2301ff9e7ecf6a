#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "locks/sync/quorum/quorum_machine.h"
#include "locks/sync/quorum/quorum_round.h"

namespace holdfast::sync {
namespace {

constexpr TimePoint kZero{std::chrono::hours(1)};
constexpr Millis kLease{30000};

// Multi locks of the same two locks, half of them in the other order, of as many clients, with the
// servers at a distance: events in the order of a simulated time.
class Contention {
 public:
  Contention(std::size_t contenders, Millis exchange) : half_(exchange / 2) {
    for (std::size_t who = 0; who < contenders; ++who) {
      QuorumMachine::Options options;
      options.rule = multi_lock_rule(2, kLease);
      options.lease = {kLease, true};
      options.votes = {true, true};
      options.seed = static_cast<std::uint32_t>(who + 1);
      contenders_.push_back(std::make_unique<Contender>(std::move(options)));
      later(Millis(0), [this, who] { resume(who, {Kind::kStart}); });
    }
  }

  // How many of them have been granted both locks, and given them back, by then.
  std::size_t granted_within(Duration time) {
    while (!events_.empty() && events_.begin()->first <= kZero + time) {
      now_ = events_.begin()->first;
      const std::function<void()> next = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      next();
    }
    return granted_;
  }

 private:
  using Kind = QuorumMachine::Input::Kind;
  using Verb = QuorumMachine::Action::Verb;

  struct Contender {
    explicit Contender(QuorumMachine::Options options) : machine(std::move(options)) {}

    QuorumMachine machine;
    std::vector<TimePoint> trusted{TimePoint{}, TimePoint{}};
    std::array<int, 2> request{};  // the number of the newest request for each member
    int timer = 0;                 // the number of the newest timer
  };
  struct Request {
    std::size_t who;
    std::size_t member;
    int number;
    bool waits;
  };
  static constexpr std::size_t kFree = SIZE_MAX;
  struct Lock {
    std::size_t owner = kFree;
    std::deque<Request> waiting;
  };

  void later(Duration delay, std::function<void()> what) {
    events_.emplace(now_ + delay, std::move(what));
  }

  Lock& lock_of(std::size_t who, std::size_t member) { return locks_[(who + member) % 2]; }

  bool newest(const Request& request) const {
    return contenders_[request.who]->request[request.member] == request.number;
  }

  void resume(std::size_t who, QuorumMachine::Input event) {
    Contender& contender = *contenders_[who];
    event.trusted = contender.trusted;
    const QuorumMachine::Action action = contender.machine.resume(event, now_);
    for (const std::size_t member : action.give_back) give_back(who, member);
    for (const std::size_t member : action.members) {
      send({who, member, ++contender.request[member], action.verb == Verb::kWait});
    }
    if (action.verb == Verb::kFinish) {
      granted_ += action.verdict == Verdict::kGranted ? 1 : 0;
      give_back(who, 1);
      give_back(who, 0);
    } else if (action.until != kNever) {
      const int timer = ++contender.timer;
      later(action.until - now_, [this, who, timer] {
        if (contenders_[who]->timer == timer) resume(who, {Kind::kTime});
      });
    }
  }

  void send(const Request& request) {
    const TimePoint trusted = trusted_until(now_, kLease);
    later(half_, [this, request, trusted] { arrived(request, trusted); });
  }

  void arrived(const Request& request, TimePoint trusted) {
    Lock& lock = lock_of(request.who, request.member);
    const bool granted = lock.owner == kFree;
    if (granted) lock.owner = request.who;
    if (!granted && request.waits) return lock.waiting.push_back(request);
    const Verdict verdict = granted ? Verdict::kGranted : Verdict::kBusy;
    later(half_, [this, request, trusted, verdict] {
      if (!newest(request)) return;
      contenders_[request.who]->trusted[request.member] = trusted;
      resume(request.who, {Kind::kAnswer, request.member, verdict});
    });
  }

  void give_back(std::size_t who, std::size_t member) {
    ++contenders_[who]->request[member];
    later(half_, [this, who, member] {
      Lock& lock = lock_of(who, member);
      if (lock.owner != who) return;
      lock.owner = kFree;
      wake_next(lock);
    });
  }

  // The message reaches a waiter, which sends its attempt then.
  void wake_next(Lock& lock) {
    while (!lock.waiting.empty() && !newest(lock.waiting.front())) lock.waiting.pop_front();
    if (lock.waiting.empty()) return;
    const Request request = lock.waiting.front();
    lock.waiting.pop_front();
    later(half_, [this, &lock, request] { newest(request) ? send(request) : wake_next(lock); });
  }

  const Duration half_;
  TimePoint now_ = kZero;
  std::multimap<TimePoint, std::function<void()>> events_;
  std::vector<std::unique_ptr<Contender>> contenders_;
  std::array<Lock, 2> locks_;
  std::size_t granted_ = 0;
};

struct Case {
  std::size_t contenders;
  Millis exchange;
};

class MultiLockContention : public testing::TestWithParam<Case> {};

// In twenty times the time that they need one after another, each with two exchanges.
TEST_P(MultiLockContention, LocksTakenInTwoOrdersAreGrantedToAll) {
  const auto [contenders, exchange] = GetParam();
  Contention contention(contenders, exchange);
  EXPECT_EQ(contention.granted_within(20 * contenders * 2 * exchange), contenders);
}

INSTANTIATE_TEST_SUITE_P(Distances, MultiLockContention,
                         testing::Values(Case{2, Millis(1)}, Case{4, Millis(100)},
                                         Case{10, Millis(1)}, Case{10, Millis(40)},
                                         Case{20, Millis(5)}, Case{20, Millis(100)}),
                         [](const auto& tested) {
                           return std::to_string(tested.param.contenders) + "Clients" +
                                  std::to_string(tested.param.exchange.count()) + "Ms";
                         });

}  // namespace
}  // namespace holdfast::sync
