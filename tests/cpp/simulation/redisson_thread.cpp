#include "simulation/redisson_thread.h"

#include <utility>

namespace holdfast::simulation {

namespace {

constexpr Millis kSoon{20};

}  // namespace

RedissonThread::RedissonThread(World& world, Server& server, const Kind& kind, Plan plan)
    : world_(world), server_(server), kind_(kind), plan_(std::move(plan)) {}

void RedissonThread::begin(std::vector<LockName> locks) {
  locks_ = std::move(locks);
  again(plan_.watch_lease);
}

void RedissonThread::again(Duration within) {
  const auto self = shared_from_this();
  world_.in(world_.random.between({}, within), [self] { self->next(); });
}

// Nothing: the server does not work at the moment.
std::optional<Answer> RedissonThread::act(RedissonStep step) {
  if (!server_.well()) return std::nullopt;
  step.command.push_back(std::to_string(server_.milliseconds()));
  Answer answer = server_.execute(step.script, step.command);
  world_.say(plan_.owner, ": ", std::string(step.script.name), " ", lock_->text(), ", ",
             std::to_string(lease_.count()), " ms -> ", answer.bytes());
  return answer;
}

void RedissonThread::next() {
  if (depth_ > 0) return go_on();
  if (plan_.rounds-- > 0) return begin_round();
  over_ = true;
}

void RedissonThread::begin_round() {
  Random& random = world_.random;
  lock_ = locks_[random.below(locks_.size())];
  again(plan_.watch_lease / 2);
  if (random.chance(plan_.forces)) {
    (void)act(steps().force_release());
    return;
  }
  watched_ = random.chance(700);
  lease_ = watched_ ? plan_.watch_lease : Millis(1 + random.below(plan_.watch_lease.count()));
  const std::optional<Answer> taken = act(steps().take(lease_));
  if (!taken || !taken->is(Answer::Kind::kNil)) return;
  depth_ = 1;
  start_watchdog();
}

// While it holds the lock, as far as it knows.
void RedissonThread::go_on() {
  Random& random = world_.random;
  if (random.chance(plan_.deaths)) {
    world_.say(plan_.owner, " dies");
    over_ = true;
    return;
  }
  again(2 * plan_.watch_lease);
  if (random.chance(300)) return;
  if (random.chance(200)) {
    const std::optional<Answer> taken = act(steps().take(lease_));
    depth_ += taken && taken->is(Answer::Kind::kNil) ? 1 : 0;
  } else if (act(steps().release(plan_.watch_lease))) {
    --depth_;
  }
}

// 4.7.0 has one timer for all locks of a client, 3.17.6 one for each.
void RedissonThread::start_watchdog() {
  ++watchdog_;
  if (!watched_) return;
  const Duration third = Duration(plan_.watch_lease) / 3;
  const Duration first =
      plan_.version == Redisson::k3_17_6 ? third : world_.random.between({}, third);
  const auto self = shared_from_this();
  world_.in(first, [self, watchdog = watchdog_] { self->renew(watchdog); });
}

void RedissonThread::renew(std::uint64_t watchdog) {
  if (over_ || depth_ == 0 || watchdog != watchdog_) return;
  const std::optional<Answer> found = act(steps().renew(plan_.watch_lease));
  if (found && found->integer == 0) return;
  const Duration period = found ? Duration(plan_.watch_lease) / 3 : kSoon;
  const auto self = shared_from_this();
  world_.in(period, [self, watchdog] { self->renew(watchdog); });
}

}  // namespace holdfast::simulation
