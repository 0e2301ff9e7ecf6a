#include "simulation/latch_history.h"

#include <algorithm>
#include <utility>

#include "locks/sync/operation/calls.h"
#include "locks/sync/recipes/keys.h"
#include "locks/sync/recipes/kinds.h"
#include "support/calls.h"

namespace holdfast::simulation {

namespace {

using sync::Verdict;

// After so long a waiter has its first answer and stands in the queue.
constexpr Millis kSettled{300};

class Passer final : public CounterUser {
 public:
  Passer(const Stage& stage, std::shared_ptr<Client> client, int rounds, LatchHistory& history)
      : CounterUser(stage, std::move(client), rounds), history_(history) {}

  std::string describe() const override {
    return client_->plan().id + (waiting_ ? " waits" : " counts");
  }
  bool settled(TimePoint now) const { return waits() && now > since_ + kSettled; }
  // It was open while this one listened.
  void expect_opening() { opening_expected_ = true; }
  bool sleeps_on() const { return opening_expected_ && waits(); }

 private:
  void next(int round) override {
    Random& random = world().random;
    opening_expected_ = false;
    waiting_ = random.chance(450);
    if (round <= 0) return stop();
    if (waiting_) return wait();
    const auto context = client_->context();
    const auto count = 1 + static_cast<std::int64_t>(random.below(3));
    const sync::CounterKind& latch = sync::count_down_latch();
    const auto* const step = latch.find(random.chance(600) ? "count_down" : "try_set_count");
    start(sync::counter_call(context, stage_.name, *step, count), false, false);
  }

  void wait() {
    Random& random = world().random;
    sync::AcquireArguments request{next_owner_number()};
    request.blocking = blocking_ = !random.chance(150);
    request.timeout = random.between({}, Millis(2000));
    deadline_ = world().now() + request.timeout;
    const auto latch = synchronizer(sync::count_down_latch().recipe, stage_.name);
    start(acquire_call(client_->context(), {latch, request}), blocking_, true);
  }

  void ended(const sync::Outcome& outcome) override {
    if (!waiting_) return;
    const Verdict verdict = outcome.verdict;
    expect(verdict != Verdict::kGranted || history_.open_since(since_),
           "got out while it was closed");
    expect(verdict != Verdict::kBusy || !blocking_, "a blocking wait ended busy");
    expect(verdict != Verdict::kTimedOut || world().now() >= deadline_, "timed out too early");
  }

  void cancelled() override {}

  LatchHistory& history_;
  bool waiting_ = false;
  bool blocking_ = true;
  bool opening_expected_ = false;
  TimePoint deadline_ = kNever;
};

Passer& passer(const std::shared_ptr<CounterUser>& user) { return static_cast<Passer&>(*user); }

}  // namespace

LatchHistory::LatchHistory(std::uint64_t seed, bool tracing) : CounterHistory(seed, tracing) {
  server_.data().set(name_.text(), {"2", {}});
  plan_users();
  plan_faults();
}

std::shared_ptr<CounterUser> LatchHistory::make_user(const std::shared_ptr<Client>& client,
                                                     int rounds) {
  return std::make_shared<Passer>(stage(), client, rounds, *this);
}

void LatchHistory::changed(std::string_view script, const std::string& request,
                           const Words& /*command*/, std::int64_t by) {
  if (by == 0) return;
  if (!counted_.insert(request).second) blame(request + " counts twice");
  const bool down = script == "count_down_latch/count_down";
  if (down && by != -1) blame(request + " counts by " + std::to_string(by));
  if (!down) last_open_ = world_.now();
  if (down && value() <= 0) opened();
}

// Every waiter that is subscribed now has to return, even if the latch is closed again.
void LatchHistory::opened() {
  last_open_ = world_.now();
  if (at_least(Climate::kCuts)) return;
  for (const auto& user : users_) {
    if (passer(user).settled(world_.now()) && listens(*user)) passer(user).expect_opening();
  }
}

bool LatchHistory::listens(const CounterUser& user) const {
  return user.waits() && user.client().reachable(network_, sync::keys::kLatchChannel.of(name_));
}

void LatchHistory::check() {
  const bool open = value() <= 0 && server_.well();
  const bool sleeps_beside = open && std::any_of(users_.begin(), users_.end(),
                                                 [&](const auto& user) { return listens(*user); });
  bound(sleeps_beside, slept_beside_since_, "a waiter sleeps beside an open latch");
  const bool sleeps_on = std::any_of(users_.begin(), users_.end(),
                                     [](const auto& user) { return passer(user).sleeps_on(); });
  bound(sleeps_on, slept_on_since_, "a waiter sleeps on, though it was opened");
}

}  // namespace holdfast::simulation
