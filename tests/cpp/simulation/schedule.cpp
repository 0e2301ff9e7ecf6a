#include "simulation/schedule.h"

#include <algorithm>
#include <utility>

namespace holdfast::simulation {

namespace {

constexpr std::chrono::minutes kLongest{5};
// So that many are longer than the shortest lease beside which a client keeps its holds (750 ms).
constexpr int kLongerLeases = 10;
const std::string kRedisson = "00000000-0000-0000-0000-000000000000";
// A write hold of several levels has their leases one after the other.
constexpr std::chrono::seconds kForeignLeases{60};

Climate worst(const Schedule::Variant& variant) {
  const bool calm = variant.beside == Schedule::Beside::kShorterReaders;
  return calm ? Climate::kCancels : Climate::kMoods;
}

}  // namespace

Schedule::Schedule(const Kind& kind, std::uint64_t seed, bool tracing, const Variant& variant)
    : History(seed, tracing, worst(variant)),
      longer_(variant.beside == Beside::kShorterReaders ? kLongerLeases : 1),
      script_{kind},
      ledger_(server_, kind, violation_),
      trust_(world_, ledger_, kind, violation_) {
  script_.defers = variant.defers;
  plan_script();
  plan_weather();
  plan_owners(variant);
  plan_faults();
  if (variant.leavers) plan_leavers();
  if (variant.beside != Beside::kNone) plan_redisson(variant.beside);
}

Schedule::~Schedule() { shut_down(); }

void Schedule::plan_script() {
  Random& random = world_.random;
  for (std::uint64_t names = 1 + random.below(2); names > 0; --names) {
    names_.push_back("lock" + std::to_string(names_.size()));
    ledger_.watch(names_.back());
    for (const Side side : script_.kind.sides()) script_.locks.emplace_back(names_.back(), side);
  }
  script_.acquire_options = script_.kind.acquire_options(random);
  stalled_since_.assign(script_.locks.size(), kNever);
  orphaned_since_.assign(names_.size(), kNever);
  script_.rounds = 1 + static_cast<int>(random.below(4));
  script_.long_holds = static_cast<unsigned>(random.below(200));
  if (at_least(Climate::kCancels)) {
    script_.cancels = static_cast<unsigned>(random.below(400));
    script_.deaths = random.chance(300) ? 60 : 0;
    script_.forces = random.chance(300) ? 100 : 0;
  }
  script_.failures = script_.cuts = at_least(Climate::kCuts);
}

// Nearly all of them leave, and most of those release once more.
void Schedule::plan_leavers() {
  script_.cancels = 300 + static_cast<unsigned>(world_.random.below(500));
  script_.second_releases = 600;
  script_.failures = true;
  plan_refusals();
}

void Schedule::plan_owners(const Variant& variant) {
  Random& random = world_.random;
  const int replicas = variant.replicas;
  if (replicas > 0 && at_least(Climate::kCuts)) {
    server_.set_lag(static_cast<unsigned>(random.below(500)));
  }
  for (std::uint64_t clients = 1 + random.below(3); clients > 0; --clients) {
    const std::shared_ptr<Client>& client = plan_client(replicas, longer_);
    client->on_event = [this, id = client->plan().id](const Event& event) {
      if (Actor* owner = actor(id, event.owner)) owner->observe(event);
    };
    for (std::uint64_t owners = 1 + random.below(3); owners > 0; --owners) {
      actors_.push_back(std::make_shared<Actor>(
          Actor::Stage{world_, ledger_, script_, violation_, numbers_, trust_}, client));
      actors_.back()->begin();
    }
  }
  if (network_.weather.partial_per_mille == 0) {
    server_.on_renewal = [this](const std::string& /*client*/, const std::string& key,
                                const std::string& owner) {
      check_renewal(script_.kind.name_of(key), owner);
    };
  }
}

void Schedule::plan_redisson(Beside beside) {
  for (std::uint64_t threads = 1 + world_.random.below(3); threads > 0; --threads) {
    redisson_.push_back(std::make_shared<RedissonThread>(world_, server_, script_.kind,
                                                         plan_thread(beside, redisson_.size())));
    redisson_.back()->begin(script_.locks);
  }
  if (beside != Beside::kShorterReaders) return;
  script_.leases = 0;
  script_.long_holds += 300;
}

// Where no reader is to shorten leases, its watchdog's lease is longer than those of the clients.
RedissonThread::Plan Schedule::plan_thread(Beside beside, std::size_t number) {
  Random& random = world_.random;
  const bool sides = script_.kind.sides().size() > 1;
  const int least = sides && beside == Beside::kRedisson ? 2100 : 60;
  RedissonThread::Plan plan;
  plan.owner = kRedisson + ':' + std::to_string(number);
  plan.version = random.chance(500) ? Redisson::k3_17_6 : Redisson::k4_7_0;
  plan.watch_lease = Millis(least + static_cast<int>(random.below(3000)));
  plan.rounds = 1 + static_cast<int>(random.below(4));
  return plan;
}

void Schedule::check_renewal(const std::string& name, const std::string& field) {
  const bool held = any_side(name, field, [](const Actor& actor, const LockName& lock) {
    return actor.client().keeper().count(lock, actor.number()) > 0;
  });
  if (!held) blame("a renewal of " + name + " goes out, but " + field + " does not hold it");
}

Actor* Schedule::actor(const std::string& client, std::uint64_t number) {
  for (const auto& actor : actors_) {
    if (actor->client().plan().id == client && actor->number() == OwnerNumber{number}) {
      return actor.get();
    }
  }
  return nullptr;
}

bool Schedule::all_over() const {
  const auto over = [](const auto& each) { return each->over(); };
  return std::all_of(actors_.begin(), actors_.end(), over) &&
         std::all_of(redisson_.begin(), redisson_.end(), over);
}

Report Schedule::run() {
  const TrustTrace::Scope traced(trust_);
  const TimePoint start = world_.now();
  if (go_on(start + kLongest * longer_, true)) {
    if (!all_over()) {
      for (const auto& actor : actors_) {
        if (!actor->over()) blame("does not end: " + actor->describe());
      }
    }
    if (rest(start, longest_lease())) check_leftovers();
  }
  check_effort();
  Report report = this->report();
  report.grants = ledger_.totals().grants;
  for (const auto& actor : actors_) report.acquisitions += actor->acquisitions();
  return report;
}

void Schedule::check() {
  for (const auto& actor : actors_) actor->check();
  for (std::size_t i = 0; i < script_.locks.size(); ++i) {
    const LockName& lock = script_.locks[i];
    bound(stalled(lock), stalled_since_[i], lock.text() + " is free, but its waiters sleep");
  }
  for (std::size_t i = 0; i < names_.size(); ++i) {
    bound(orphaned(names_[i]), orphaned_since_[i], names_[i] + " is held by one who does not know");
  }
}

// A waiter sleeps beside what it could have, and could know. Not one behind an unanswered renewal
// of its owner: that may last for the command time-out.
bool Schedule::stalled(const LockName& lock) {
  if (!server_.well()) return false;
  return std::any_of(actors_.begin(), actors_.end(), [&](const auto& a) {
    return a->waits_for(lock) && !a->client().keeper().renewal_on_wire(lock, a->number()) &&
           ledger_.open_to(lock, a->field(), a->channel()) &&
           a->client().reachable(network_, a->channel());
  });
}

// A grant that was neither reported to a caller, nor given back, nor named by a closed client.
bool Schedule::orphaned(const std::string& name) {
  if (at_least(Climate::kStalls)) return false;
  const bool explained = std::any_of(actors_.begin(), actors_.end(), [&](const auto& actor) {
    return actor->client().closed() && actor->reported(name);
  });
  if (explained) return false;
  const Holders& holders = ledger_.holders(name);
  return std::any_of(holders.begin(), holders.end(), [&, &actors = actors_](const auto& holder) {
    const std::string& field = holder.first;
    if (field.substr(0, kRedisson.size()) == kRedisson) return false;
    const bool doubted = std::any_of(actors.begin(), actors.end(),
                                     [&](const auto& actor) { return actor->doubts(field); });
    return !doubted && !any_side(name, field, [this](const Actor& actor, const LockName& lock) {
      return actor.answers_for(lock, server_.well());
    });
  });
}

bool Schedule::any_side(const std::string& name, const std::string& field,
                        const std::function<bool(const Actor&, const LockName&)>& what) const {
  const std::vector<Side>& sides = script_.kind.sides();
  return std::any_of(actors_.begin(), actors_.end(), [&](const auto& a) {
    return std::any_of(sides.begin(), sides.end(), [&](Side side) {
      const LockName lock(name, side);
      return script_.kind.field(lock, a->field()) == field && what(*a, lock);
    });
  });
}

// When all is over nothing is renewed any more, and nothing lies about.
void Schedule::check_leftovers() {
  for (const std::string& key : server_.data().keys()) {
    if (!script_.kind.may_stay(server_.data(), key, !script_.failures)) {
      blame(key + " is left behind");
    }
  }
}

// Until what an owner that has died, or a place in line, leaves behind is over.
Duration Schedule::longest_lease() const {
  Duration longest = std::max<Duration>(script_.acquire_options.queue_timeout, kLongestFixedLease);
  for (const auto& client : clients_) {
    longest = std::max<Duration>(longest, client->plan().watch_lease);
  }
  return redisson_.empty() ? longest : longest + kForeignLeases;
}

// Attempts are bounded by what could make them worth while.
void Schedule::check_effort() {
  if (at_least(Climate::kCuts) || script_.second_releases > 0) return;
  int acquisitions = 0;
  for (const auto& actor : actors_) acquisitions += actor->acquisitions();
  // A head looks again when the holder's time is up, which is renewed three times meanwhile.
  const Ledger::Totals& totals = ledger_.totals();
  const int times_up = totals.grants + totals.renewals;
  const int subscriptions = server_.totals().subscriptions;
  const int notified = server_.totals().messages * static_cast<int>(clients_.size());
  const int most =
      acquisitions + (subscriptions + notified + times_up) * most_heads() + unasked_looks() + 2;
  if (totals.attempts > most) {
    blame(std::to_string(totals.attempts) + " attempts, but no more than " + std::to_string(most) +
          " had a reason");
  }
}

// How many of a client's waiters may try at a time.
int Schedule::most_heads() const {
  const bool together =
      std::any_of(script_.locks.begin(), script_.locks.end(), [&](const LockName& lock) {
        return script_.kind.recipe(lock).traits.waiting == sync::Waiting::kTogether;
      });
  constexpr int kOwnersOfAClient = 3;
  return together ? kOwnersOfAClient : 1;
}

// The most attempts that the waiters may make without a message.
int Schedule::unasked_looks() const {
  const Duration time = world_.now() - TimePoint(std::chrono::hours(1));
  const auto looks = time / script_.kind.backoff(script_.acquire_options);
  return static_cast<int>(looks) * static_cast<int>(actors_.size());
}

}  // namespace holdfast::simulation
