#include "simulation/schedule.h"

#include <algorithm>
#include <utility>

namespace holdfast::simulation {

namespace {

constexpr Millis kBusyTime{60};
constexpr Millis kFaultsEnd{1500};
constexpr std::chrono::minutes kLongest{5};
constexpr std::uint64_t kBusyLoop = 20000;

}  // namespace

Schedule::Schedule(const Kind& kind, std::uint64_t seed, bool tracing, int replicas)
    : world_(seed),
      climate_(static_cast<Climate>(world_.random.below(kClimates))),
      server_(world_, static_cast<std::int64_t>(world_.random.below(9001)) - 4500),
      network_(world_, server_),
      loop_(world_, network_),
      script_{kind},
      ledger_(server_, kind, violation_) {
  world_.tracing = tracing;
  world_.say("climate ", std::to_string(static_cast<int>(climate_)));
  plan_script();
  plan_clients(replicas);
  plan_faults();
}

Schedule::~Schedule() {
  for (const auto& client : clients_) client->on_event = [](const lease::Event&) {};
  for (const auto& client : clients_) client->close();
  while (loop_.step_one()) continue;
  loop_.stop();
}

void Schedule::plan_script() {
  Random& random = world_.random;
  for (std::uint64_t names = 1 + random.below(2); names > 0; --names) {
    names_.push_back("lock" + std::to_string(names_.size()));
    ledger_.watch(names_.back());
    for (const Side side : script_.kind.sides()) script_.locks.emplace_back(names_.back(), side);
  }
  script_.terms = script_.kind.terms(random);
  neglected_since_.assign(script_.locks.size(), kNever);
  orphaned_since_.assign(names_.size(), kNever);
  script_.rounds = 1 + static_cast<int>(random.below(4));
  script_.long_holds = static_cast<unsigned>(random.below(200));
  if (at_least(Climate::kCancels)) {
    script_.cancels = static_cast<unsigned>(random.below(400));
    script_.deaths = random.chance(300) ? 60 : 0;
    script_.forces = random.chance(300) ? 100 : 0;
  }
  script_.failures = at_least(Climate::kCuts);
  network_.weather.partial_per_mille = random.chance(200) ? 200 : 0;
  network_.weather.slow_per_mille = static_cast<unsigned>(random.below(100));
  if (at_least(Climate::kStalls) && random.chance(200)) network_.weather.slowest = Millis(600);
}

void Schedule::plan_clients(int replicas) {
  Random& random = world_.random;
  if (replicas > 0 && at_least(Climate::kCuts)) {
    server_.set_lag(static_cast<unsigned>(random.below(500)));
  }
  const std::uint64_t clients = 1 + random.below(3);
  for (std::uint64_t i = 0; i < clients; ++i) {
    ClientPlan plan;
    plan.id = std::string(1, static_cast<char>('a' + i));
    plan.watch_lease = Millis(60 + static_cast<int>(random.below(600)));
    plan.command_timeout = Millis(200 + static_cast<int>(random.below(600)));
    plan.retries = static_cast<int>(random.below(8));
    plan.replicas = replicas;
    clients_.push_back(Client::make(world_, network_, loop_, plan));
    clients_.back()->on_event = [this, id = plan.id](const lease::Event& event) {
      if (Actor* told = actor(id, event.owner)) told->told(event);
    };
    for (std::uint64_t owners = 1 + random.below(3); owners > 0; --owners) {
      actors_.push_back(std::make_shared<Actor>(
          Actor::Stage{world_, ledger_, script_, violation_, numbers_}, clients_.back()));
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

void Schedule::plan_faults() {
  if (climate_ == Climate::kCalm) return;
  for (std::uint64_t faults = world_.random.below(6); faults > 0; --faults) {
    // Most owners are busy in the beginning.
    const Duration end = world_.random.chance(600) ? kBusyTime : kFaultsEnd;
    world_.in(world_.random.between({}, end), [this] { one_fault(); });
  }
}

void Schedule::one_fault() {
  Random& random = world_.random;
  const std::uint64_t worst = static_cast<std::uint64_t>(climate_);
  switch (static_cast<Climate>(1 + random.below(worst))) {
    case Climate::kCancels:
      world_.say("the scripts are forgotten");
      return server_.flush_scripts();
    case Climate::kCuts:
      return cut(random.chance(500));
    case Climate::kStalls:
      return stall();
    case Climate::kRestarts:
      return restart();
    case Climate::kMoods:
      return random.chance(200) ? close_a_client() : refuse();
    case Climate::kCalm:
      return;
  }
}

void Schedule::stall() {
  Random& random = world_.random;
  const auto open = network_.open_wires();
  if (open.empty() || random.chance(600)) {
    world_.say("the server stalls");
    const Duration most = random.chance(500) ? Millis(100) : Millis(2000);
    return server_.pause(random.between(Millis(5), most));
  }
  const auto& wire = open[random.below(open.size())];
  world_.say("wire ", std::to_string(wire->number()), " swallows all");
  wire->black_hole();
}

void Schedule::restart() {
  const bool with_data = world_.random.chance(600);
  world_.say("the server restarts ", with_data ? "with" : "without", " its data");
  const Duration down = world_.random.between({}, Millis(300));
  server_.restart(with_data, down, network_.open_wires());
}

void Schedule::cut(bool executed) {
  const auto open = network_.open_wires();
  if (open.empty()) return;
  const auto& wire = open[world_.random.below(open.size())];
  world_.say("wire ", std::to_string(wire->number()), " breaks ", executed ? "after" : "before",
             " what it carries");
  wire->cut(executed);
}

void Schedule::refuse() {
  const bool full = world_.random.chance(500);
  world_.say("the server ", full ? "has no memory" : "loads its data");
  server_.set_mood(full ? Server::Mood::kFull : Server::Mood::kLoading);
  world_.in(world_.random.between({}, Millis(300)), [this] {
    world_.say("the server is well");
    server_.set_mood(Server::Mood::kWell);
  });
}

void Schedule::close_a_client() {
  const auto& client = clients_[world_.random.below(clients_.size())];
  world_.say(client->plan().id, " is closed");
  if (!client->closed()) client->close();
}

void Schedule::blame(const std::string& what) {
  if (!violation_) violation_ = Violation{what};
}

bool Schedule::all_over() const {
  return std::all_of(actors_.begin(), actors_.end(), [](const auto& a) { return a->over(); });
}

Report Schedule::run() {
  const TimePoint start = world_.now();
  if (go_on(start + kLongest, true)) {
    if (!all_over()) {
      for (const auto& actor : actors_) {
        if (!actor->over()) blame("does not end: " + actor->describe());
      }
    }
    const TimePoint faults_end = start + kFaultsEnd + Millis(2500);
    const Duration rest = Millis(3000) + script_.terms.patience;
    if (go_on(std::max(world_.now(), faults_end) + rest, false)) check_leftovers();
  }
  check_effort();
  Report report{violation_, 0, ledger_.totals().grants, steps_, std::move(world_.diary)};
  for (const auto& actor : actors_) report.acquisitions += actor->acquisitions();
  return report;
}

bool Schedule::go_on(TimePoint until, bool for_actors) {
  while (!violation_ && !(for_actors && all_over())) {
    if (world_.run_one_due() || loop_.step_one()) {
      ++steps_;
      if (++steps_now_ > kBusyLoop) blame("a busy loop");
      check();
    } else if (!advance(until)) {
      break;
    }
  }
  return !violation_;
}

bool Schedule::advance(TimePoint until) {
  const TimePoint next = std::min(world_.next(), loop_.next());
  if (world_.now() >= until) return false;
  world_.advance_to(std::min(next, until));
  steps_now_ = 0;
  return true;
}

void Schedule::check() {
  for (const auto& actor : actors_) actor->check();
  for (std::size_t i = 0; i < script_.locks.size(); ++i) {
    const LockName& lock = script_.locks[i];
    bound(neglected(lock), neglected_since_[i], lock.bytes() + " is free, but its waiters sleep");
  }
  for (std::size_t i = 0; i < names_.size(); ++i) {
    bound(orphaned(names_[i]), orphaned_since_[i], names_[i] + " is held by one who does not know");
  }
}

// What may be for a moment, while a few packets are on their way, but must not last.
void Schedule::bound(bool wrong, TimePoint& since, const std::string& what) {
  const Duration patience = Millis(300) + 8 * network_.weather.slowest;
  since = wrong ? std::min(since, world_.now()) : kNever;
  if (wrong && world_.now() > since + patience) blame(what);
}

// Somebody waits for what it could have, and could know.
bool Schedule::neglected(const LockName& lock) {
  if (!server_.well()) return false;
  return std::any_of(actors_.begin(), actors_.end(), [&](const auto& a) {
    return a->waits_for(lock) && ledger_.open_to(lock, a->field(), a->channel()) &&
           a->client().reachable(network_, a->channel());
  });
}

// A grant that was reported to nobody, and not given back.
bool Schedule::orphaned(const std::string& name) {
  if (at_least(Climate::kStalls)) return false;
  const Holders& holders = ledger_.holders(name);
  return std::any_of(holders.begin(), holders.end(), [&, &actors = actors_](const auto& holder) {
    const std::string& field = holder.first;
    const bool doubted = std::any_of(actors.begin(), actors.end(),
                                     [&](const auto& actor) { return actor->doubts(field); });
    return !doubted && !any_side(name, field, [](const Actor& actor, const LockName& lock) {
      return actor.answers_for(lock);
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
    if (!script_.kind.may_stay(server_.data(), key, !at_least(Climate::kCuts))) {
      blame(key + " is left behind");
    }
  }
}

// Attempts are bounded by what could make them worth while.
void Schedule::check_effort() {
  if (at_least(Climate::kCuts)) return;
  int acquisitions = 0;
  for (const auto& actor : actors_) acquisitions += actor->acquisitions();
  // A head looks again when the holder's time is up, which is renewed three times meanwhile.
  const Ledger::Totals& totals = ledger_.totals();
  const int times_up = totals.grants + totals.renewals;
  const int subscriptions = server_.totals().subscriptions;
  const int told = server_.totals().messages * static_cast<int>(clients_.size());
  const int most =
      acquisitions + (subscriptions + told + times_up) * most_heads() + unasked_looks() + 2;
  if (totals.attempts > most) {
    blame(std::to_string(totals.attempts) + " attempts, but no more than " + std::to_string(most) +
          " had a reason");
  }
}

// How many of a client's waiters may try at a time.
int Schedule::most_heads() const {
  const bool together =
      std::any_of(script_.locks.begin(), script_.locks.end(), [&](const LockName& lock) {
        return script_.kind.recipe(lock).waiting() == sync::Waiting::kTogether;
      });
  constexpr int kOwnersOfAClient = 3;
  return together ? kOwnersOfAClient : 1;
}

// How often waiters may have looked again though nobody told them anything.
int Schedule::unasked_looks() const {
  const Duration time = world_.now() - TimePoint(std::chrono::hours(1));
  const auto looks = time / script_.kind.rest(script_.terms);
  return static_cast<int>(looks) * static_cast<int>(actors_.size());
}

}  // namespace holdfast::simulation
