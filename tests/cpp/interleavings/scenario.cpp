#include "interleavings/scenario.h"

#include <algorithm>
#include <utility>

#include "interleavings/awaited.h"
#include "locks/sync/recipes/kinds.h"
#include "redis/base/mutex.h"

namespace holdfast::interleavings {

namespace {

using simulation::Hash;
using sync::Verdict;

const std::string kName = "lock";
constexpr Millis kLease{600'000};
constexpr Millis kAllFaultsAndMore{30'000};  // all stalls of the threads, too

// Mostly the lock, as others differ little.
const sync::LockKind& kind_of(std::uint64_t seed) {
  constexpr std::uint64_t kTurns = 8;
  constexpr std::uint64_t kWrites = 2;
  constexpr std::uint64_t kFenced = 6;
  if (seed % kTurns == kWrites) return *sync::find_lock_kind("write_lock");
  return *sync::find_lock_kind(seed % kTurns == kFenced ? "fenced_lock" : "lock");
}

void wait_to_read(int fd, Duration longest) {
  pollfd descriptor{fd, POLLIN, 0};
  const timespec time{longest.count() / 1'000'000'000, longest.count() % 1'000'000'000};
  poll_descriptors(&descriptor, 1, time);
}

}  // namespace

// Where an operation without a thread leaves its outcome.
class Scenario::Mail final : public sync::Completion {
 public:
  void done(std::uint64_t /*id*/, sync::Outcome outcome) override {
    twice = arrived.has_value();
    arrived = std::move(outcome);
  }
  std::optional<sync::Outcome> arrived;
  bool twice = false;
};

class Scenario::Interruptions final : public sync::Interrupt {
 public:
  explicit Interruptions(Random& random)
      : random_(random), per_mille_(random.chance(500) ? 500 : 0) {}
  bool pending() override { return random_.chance(per_mille_); }
  // A thread without them sleeps until it is woken.
  sync::Interrupt* if_any() { return per_mille_ > 0 ? this : nullptr; }

 private:
  Random& random_;
  const unsigned per_mille_;
};

Scenario::Scenario(Callers callers, std::uint64_t seed, bool tracing)
    : threads_(callers != Callers::kTasks && callers != Callers::kDeferringTasks),
      batches_(callers == Callers::kBatchingThreads),
      defer_(callers == Callers::kDeferringThreads || callers == Callers::kDeferringTasks),
      recipe_(kind_of(seed).recipe()),
      name_(kName, kind_of(seed).side),
      lock_(simulation::synchronizer(recipe_, name_)),
      random_(seed),
      world_(random_.next()),
      server_(world_, 0),
      network_(world_, server_),
      loop_(world_, network_),
      scheduler_(world_, network_, random_.next()) {
  world_.tracing = tracing;
  server_.witness = this;
  plan();
  if (batches_ || (threads_ && random_.chance(500))) network_.wait_for_reply = wait_to_read;
}

Scenario::~Scenario() {
  server_.witness = nullptr;
  for (const auto& client : clients_) {
    if (!client->closed()) client->close();
  }
  // A release that was refused for the moment backs off by a timer, which keeps it, and ends then.
  loop_.run(client::kLoginPause);
  loop_.stop();
}

void Scenario::plan() {
  // One owner that is mostly alone on its connection sends for itself most often.
  const std::size_t clients = batches_ || random_.chance(700) ? 1 : 2;
  for (std::size_t i = 0; i < clients; ++i) {
    simulation::ClientPlan plan;
    plan.id = std::string(1, static_cast<char>('a' + i));
    plan.watch_lease = kLease;
    plan.command_timeout = Millis(400);
    using Driver = client::Connection::Driver;
    plan.driver = threads_ ? Driver::kCallers : Driver::kLoop;
    clients_.push_back(Client::make(world_, network_, loop_, plan));
    clients_.back()->on_event = [this](const Event& event) { notified(event); };
    add_owner(clients_.back());
  }
  if (!batches_ && random_.chance(700)) add_owner(clients_.front());
  if (batches_) {
    group_.emplace(clients_.front(), server_, OwnerNumber{owners_.size() + 1},
                   [this](const std::string& what) { blame(what); });
  }
  if (random_.chance(400)) closes_at_ = world_.now() + random_.between({}, Millis(600));
  plan_faults();
}

void Scenario::add_owner(const std::shared_ptr<Client>& client) {
  const OwnerNumber number{owners_.size() + 1};
  const std::string suffix = name_.side() == Side::kWrite ? ":write" : "";
  owners_.push_back(std::unique_ptr<Owner>(new Owner{
      client, number, owner_field(client->plan().id, number) + suffix, Random(random_.next())}));
}

void Scenario::plan_faults() {
  if (random_.chance(300)) return;
  for (std::uint64_t windows = 1 + random_.below(5); windows > 0; --windows) {
    const Duration begin = random_.between({}, Millis(500));
    const bool breaks = random_.chance(300);
    const bool executed = random_.chance(500);
    world_.in(begin, [this, breaks, executed] {
      world_.say("the server loads its data");
      if (breaks) cut(executed);
      server_.set_mood(Server::Mood::kLoading);
    });
    world_.in(begin + random_.between({}, Millis(150)), [this] {
      world_.say("the server is well");
      server_.set_mood(Server::Mood::kWell);
    });
  }
  world_.in(Millis(700), [this] { server_.set_mood(Server::Mood::kWell); });
}

void Scenario::notified(const Event& event) {
  using Kind = Event::Kind;
  if (event.kind == Kind::kLost) blame("the loss of a hold is reported");
  if (event.kind == Kind::kLostAfterRelease) blame("a released hold is reported as lost");
}

// `executed`: what is on its way still gets there.
void Scenario::cut(bool executed) {
  const auto open = network_.open_wires();
  if (open.empty()) return;
  const auto& wire = open[world_.random.below(open.size())];
  world_.say("wire ", std::to_string(wire->number()), " breaks");
  wire->cut(executed);
}

void Scenario::start_threads() {
  living_ = owners_.size() + (batches_ ? 1 : 0);
  for (const auto& owner : owners_) {
    scheduler_.add("owner " + owner->field, [this, each = owner.get()] { live(*each); });
  }
  if (batches_) scheduler_.add("owner of several locks", [this] { live_with_group(); });
  scheduler_.add("closer", [this] { close_all(); });
  scheduler_.add(
      "loop", [this] { drive_loop(); }, Scheduler::Kind::kDaemon);
  scheduler_.add(
      "network", [this] { drive_network(); }, Scheduler::Kind::kDaemon);
}

Report Scenario::run(const std::string& heading) {
  scheduler_.heading = heading;
  start_threads();
  scheduler_.run();
  return {violation_, scheduler_.points(), grants_, std::move(world_.diary)};
}

void Scenario::drive_loop() {
  const WheneverReady work([this] { return scheduler_.stopping() || loop_.ready(); },
                           [this] { return loop_.next(); });
  while (!scheduler_.stopping()) {
    interleavings::pass("loop", &loop_, work);
    (void)loop_.step_one();
  }
}

void Scenario::drive_network() {
  const WheneverReady work(
      [this] { return scheduler_.stopping() || world_.next() <= world_.now(); },
      [this] { return world_.next(); });
  while (!scheduler_.stopping()) {
    interleavings::pass("network", &world_, work);
    (void)world_.run_one_due();
  }
}

void Scenario::sleep(Duration time) {
  const TimePoint until = world_.now() + time;
  interleavings::pass("sleep", this, Until([] { return false; }, until));
}

void Scenario::live(Owner& owner) {
  // An earlier scenario's notification may have come after its thread had looked.
  Parker::of_this_thread().park(world_, TimePoint{});
  for (std::uint64_t rounds = 3 + owner.random.below(4); rounds > 0; --rounds) {
    if (!acquire(owner)) continue;
    stay(owner);
    release(owner);
    rest(owner);
  }
  --living_;
}

void Scenario::live_with_group() {
  Parker::of_this_thread().park(world_, TimePoint{});
  for (int rounds = 4; rounds > 0 && !closing_; --rounds) {
    sleep(random_.between({}, Millis(30)));
    group_->run();
  }
  --living_;
}

// For any time, or until the moment of one of the engine's timers, when both go on.
void Scenario::rest(Owner& owner) {
  if (owner.random.chance(200)) return sleep(owner.random.between({}, Millis(150)));
  if (owner.random.chance(300)) return;
  sleep(Millis(2));  // in which the loop learns of what was armed
  const std::vector<TimePoint> moments = loop_.moments();
  if (moments.empty()) return;
  const Duration left = moments[owner.random.below(moments.size())] - world_.now();
  if (left > Duration::zero() && left < Millis(150)) sleep(left);
}

// Nothing: its caller has left.
std::optional<sync::Outcome> Scenario::await(Owner& owner, const sync::ExchangePtr& exchange) {
  if (threads_) {
    Interruptions interruptions(owner.random);
    return exchange->wait(interruptions.if_any());
  }
  const auto mail = std::make_shared<Mail>();
  const bool leaves = owner.random.chance(500);
  const TimePoint until = leaves ? world_.now() + owner.random.between({}, Millis(90)) : kNever;
  exchange->finish_to(mail, 1);
  interleavings::pass("await", mail.get(),
                      Until([&mail] { return mail->arrived.has_value(); }, until));
  if (mail->twice) blame("an operation ends twice");
  // Between the end of a task's wait and its cancellation the outcome may arrive.
  if (mail->arrived && !(leaves && world_.now() >= until)) return mail->arrived;
  world_.say(owner.field, " leaves");
  exchange->cancel();
  return std::nullopt;
}

std::optional<sync::Outcome> Scenario::ask_for(Owner& owner,
                                               const sync::AcquireArguments& request) {
  return await(owner, simulation::acquire_call(owner.client->context(), {lock_, request}));
}

std::optional<sync::Outcome> Scenario::give_up(Owner& owner) {
  const bool deferred = defer_ && owner.random.chance(600);
  return await(owner, simulation::release_call(owner.client->context(), lock_,
                                               {owner.number, {}, deferred}));
}

bool Scenario::acquire(Owner& owner) {
  sync::AcquireArguments request{owner.number, {kLease, true}};
  request.blocking = !owner.random.chance(100);
  if (owner.random.chance(200)) {
    request.timeout = owner.random.between({}, Millis(150));
  }
  world_.say(owner.field, " acquires");
  const TimePoint late = world_.now() + kLease;
  const auto outcome = ask_for(owner, request);
  if (world_.now() >= late) blame(owner.field + " slept beside a free lock");
  if (!outcome || outcome->verdict != Verdict::kGranted) return false;
  world_.say(owner.field, " is granted the lock");
  ++grants_;
  owner.inside = true;
  check_owners();
  return true;
}

void Scenario::stay(Owner& owner) {
  if (owner.random.chance(500)) sleep(owner.random.between({}, Millis(40)));
  if (!closing_ && owner.client->keeper().count(name_, owner.number) != 1 && !closing_) {
    blame(owner.field + " holds the lock, and its client does not know");
  }
  check_owners();
  owner.inside = false;
}

void Scenario::release(Owner& owner) {
  for (bool again = true; again; again = owner.random.chance(500)) {
    world_.say(owner.field, " releases");
    const auto outcome = give_up(owner);
    if (outcome && outcome->verdict == Verdict::kGone) {
      blame(owner.field + " gets to know that its hold was lost");
    }
    if (outcome && outcome->verdict != Verdict::kFailed) return;
  }
}

void Scenario::close_all() {
  Parker::of_this_thread().park(world_, TimePoint{});
  interleavings::pass("await owners", this, Until([this] { return living_ == 0; }, closes_at_));
  if (living_ == 0) {
    for (const auto& client : clients_) await_rest(*client);
    if (server_.data().find(kName) != nullptr || (batches_ && group_->left_behind())) {
      blame("a lock is left behind, and no client knows of it");
    }
  }
  closing_ = true;
  for (const auto& client : clients_) close(*client);
}

// Every release has an end.
void Scenario::await_rest(const Client& client) {
  const TimePoint longest = world_.now() + std::chrono::seconds(30);
  while (!client.keeper().is_idle()) {
    if (world_.now() > longest) return blame("a release does not come to an end");
    sleep(Millis(10));
  }
}

void Scenario::close(Client& client) {
  const bool release_held = random_.chance(500);
  const Millis timeout = random_.chance(500) ? Millis(300) : kAllFaultsAndMore;
  world_.say(client.plan().id, " is closed");
  const TimePoint connections_close = world_.now() + timeout;
  const std::vector<std::string> names = client.close_and_wait(timeout, release_held);
  const bool named = std::find(names.begin(), names.end(), kName) != names.end();
  const bool held = std::any_of(owners_.begin(), owners_.end(), [&](const auto& owner) {
    return owner->client.get() == &client && on_server(owner->field);
  });
  // Only for so long it waits for a thread that has an answer in its hands.
  const bool excused = scheduler_.stood_still_until() > connections_close;
  if (held && !named && !excused) blame("close() does not name the lock, which is held");
  if (named && release_held && timeout == kAllFaultsAndMore) {
    blame("close() leaves the lock held, though it was to release it and had the time");
  }
}

void Scenario::executed(const script::Script& /*script*/, const simulation::Words& /*command*/,
                        const simulation::Answer& /*answer*/) {
  check_owners();
}

bool Scenario::on_server(const std::string& field) {
  const Hash* hash = server_.data().get<Hash>(kName);
  return hash != nullptr && simulation::field_of(*hash, field) != nullptr;
}

void Scenario::check_owners() {
  int inside = 0;
  for (const auto& owner : owners_) {
    if (!owner->inside) continue;
    ++inside;
    if (!on_server(owner->field) && !closing_) {
      blame(owner->field + " holds the lock, and the server does not know");
    }
  }
  if (inside > 1 && !closing_) blame("two owners");
}

void Scenario::blame(const std::string& what) {
  if (violation_) return;
  world_.say("VIOLATION: ", what);
  violation_ = Violation{what};
}

}  // namespace holdfast::interleavings
