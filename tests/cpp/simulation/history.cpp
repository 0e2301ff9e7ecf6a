#include "simulation/history.h"

#include <algorithm>

namespace holdfast::simulation {

namespace {

constexpr Millis kBusyTime{60};
constexpr Millis kFaultsEnd{1500};
constexpr std::uint64_t kBusyLoop = 20000;

}  // namespace

History::History(std::uint64_t seed, bool tracing, Climate worst)
    : world_(seed),
      climate_(static_cast<Climate>(world_.random.below(static_cast<std::uint64_t>(worst) + 1))),
      server_(world_, static_cast<std::int64_t>(world_.random.below(9001)) - 4500),
      network_(world_, server_),
      loop_(world_, network_) {
  world_.tracing = tracing;
  world_.say("climate ", std::to_string(static_cast<int>(climate_)));
}

void History::shut_down() {
  for (const auto& client : clients_) client->on_event = [](const Event&) {};
  for (const auto& client : clients_) client->close();
  while (loop_.step_one()) continue;
  loop_.stop();
  world_.drop_events();  // of a history that a violation has ended: they keep clients
}

void History::plan_weather() {
  Random& random = world_.random;
  network_.weather.partial_per_mille = random.chance(200) ? 200 : 0;
  network_.weather.slow_per_mille = static_cast<unsigned>(random.below(100));
  if (at_least(Climate::kStalls) && random.chance(200)) network_.weather.slowest = Millis(600);
}

const std::shared_ptr<Client>& History::plan_client(int replicas, int longer) {
  Random& random = world_.random;
  ClientPlan plan;
  const char letter = static_cast<char>('a' + clients_.size());
  plan.id = std::string(8, letter) + "-0000-0000-0000-000000000000";  // as scripts recognize it
  plan.watch_lease = longer * Millis(60 + static_cast<int>(random.below(600)));
  plan.command_timeout = Millis(200 + static_cast<int>(random.below(600)));
  plan.retries = static_cast<int>(random.below(8));
  plan.replicas = replicas;
  plan.tracks = clients_.size() % 2 == 0;
  clients_.push_back(Client::make(world_, network_, loop_, plan));
  clients_.back()->on_event = [](const Event&) {};
  return clients_.back();
}

void History::plan_faults() {
  if (climate_ == Climate::kCalm) return;
  for (std::uint64_t faults = world_.random.below(6); faults > 0; --faults) {
    // Most owners are busy in the beginning.
    const Duration end = world_.random.chance(600) ? kBusyTime : kFaultsEnd;
    world_.in(world_.random.between({}, end), [this] { one_fault(); });
  }
}

void History::plan_refusals() {
  Random& random = world_.random;
  for (std::uint64_t times = 1 + random.below(6); times > 0; --times) {
    world_.in(random.between({}, kBusyTime), [this] { refuse(); });
  }
  if (random.chance(500)) world_.in(random.between({}, kBusyTime), [this] { close_a_client(); });
}

void History::one_fault() {
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

void History::stall() {
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

void History::restart() {
  const bool with_data = world_.random.chance(600) || !may_lose_data();
  world_.say("the server restarts ", with_data ? "with" : "without", " its data");
  const Duration down = world_.random.between({}, Millis(300));
  server_.restart(with_data, down, network_.open_wires());
}

void History::cut(bool executed) {
  const auto open = network_.open_wires();
  if (open.empty()) return;
  const auto& wire = open[world_.random.below(open.size())];
  world_.say("wire ", std::to_string(wire->number()), " breaks ", executed ? "after" : "before",
             " what it carries");
  wire->cut(executed);
}

void History::refuse() {
  const bool full = world_.random.chance(500);
  world_.say("the server ", full ? "has no memory" : "loads its data");
  server_.set_mood(full ? Server::Mood::kFull : Server::Mood::kLoading);
  world_.in(world_.random.between({}, Millis(300)), [this] {
    world_.say("the server is well");
    server_.set_mood(Server::Mood::kWell);
  });
}

void History::close_a_client() {
  Random& random = world_.random;
  const auto& client = clients_[random.below(clients_.size())];
  if (client->closed()) return;
  const Millis timeout = random.chance(500) ? Millis(0) : client->plan().command_timeout;
  const bool release_held = random.chance(300);
  world_.say(client->plan().id, " is closed");
  client->close(timeout, release_held);
}

void History::blame(const std::string& what) {
  if (!violation_) violation_ = Violation{what};
}

// What may be for a moment, while a few packets are on their way, but must not last.
void History::bound(bool wrong, TimePoint& since, const std::string& what) {
  const Duration grace = Millis(300) + 8 * network_.weather.slowest;
  since = wrong ? std::min(since, world_.now()) : kNever;
  if (wrong && world_.now() > since + grace) blame(what);
}

bool History::go_on(TimePoint until, bool for_actors) {
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

bool History::advance(TimePoint until) {
  const TimePoint next = std::min(world_.next(), loop_.next());
  if (world_.now() >= until) return false;
  world_.advance_to(std::min(next, until));
  steps_now_ = 0;
  return true;
}

bool History::rest(TimePoint start, Duration longer) {
  const TimePoint faults_end = start + kFaultsEnd + Millis(2500);
  return go_on(std::max(world_.now(), faults_end) + Millis(3000) + longer, false);
}

Report History::report() {
  Report report;
  report.violation = violation_;
  report.steps = steps_;
  report.diary = std::move(world_.diary);
  return report;
}

}  // namespace holdfast::simulation
