#include "simulation/permits_history.h"

#include <algorithm>

#include "locks/sync/recipes/keys.h"
#include "simulation/permit_holder.h"

namespace holdfast::simulation {

namespace {

constexpr std::chrono::minutes kLongest{5};
constexpr std::size_t kIdSize = 16;
// So that a slow network alone ends no hold.
constexpr int kLongerLeases = 4;

std::vector<std::string> ids(const std::string& joined) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < joined.size(); at += kIdSize) {
    all.push_back(joined.substr(at, kIdSize));
  }
  return all;
}

const PermitHolder& holder(const std::shared_ptr<CounterUser>& user) {
  return static_cast<const PermitHolder&>(*user);
}

}  // namespace

PermitsHistory::PermitsHistory(std::uint64_t seed, bool tracing)
    : History(seed, tracing), permits_(2 + static_cast<std::int64_t>(world_.random.below(5))) {
  server_.data().set(name_.text(), {std::to_string(permits_), {}});
  server_.witness = this;
  plan_weather();
  // Requests have numbers that no process uses twice, whose length would change the packets.
  network_.weather.partial_per_mille = 0;
  if (at_least(Climate::kCancels)) cancels_ = static_cast<unsigned>(world_.random.below(400));
  plan_users();
  plan_faults();
}

PermitsHistory::~PermitsHistory() {
  shut_down();
  server_.witness = nullptr;
}

void PermitsHistory::plan_users() {
  Random& random = world_.random;
  const int rounds = 2 + static_cast<int>(random.below(6));
  const CounterUser::Stage stage{world_, violation_, name_, cancels_, at_least(Climate::kCuts)};
  for (std::uint64_t clients = 1 + random.below(3); clients > 0; --clients) {
    const std::shared_ptr<Client> client = plan_client(0, kLongerLeases);
    client->on_event = [this](const Event& event) {
      if (event.kind != Event::Kind::kLost) return;
      const bool fresh = lost_.insert(OwnerNumber{event.owner}).second;
      if (!fresh) blame("reported twice that a permit is lost");
    };
    for (std::uint64_t owners = 1 + random.below(3); owners > 0; --owners) {
      users_.push_back(std::make_shared<PermitHolder>(stage, client, rounds, *this, permits_));
      users_.back()->begin();
    }
  }
}

OwnerNumber PermitsHistory::next_numbers(std::int64_t amount) {
  const OwnerNumber first{numbers_ + 1};
  numbers_ += static_cast<std::uint64_t>(amount);
  return first;
}

PermitsHistory::InUse PermitsHistory::permits_in_use() {
  InUse in_use;
  const auto* out = server_.data().get<SortedSet>(sync::keys::kPermitTimeouts.of(name_));
  if (out == nullptr) return in_use;
  for (const Ranked& permit : *out) {
    in_use[permit.member] = static_cast<std::int64_t>(permit.score);
  }
  return in_use;
}

bool PermitsHistory::in_use(const std::string& permit) {
  const InUse now = permits_in_use();
  const auto found = now.find(permit);
  return found != now.end() && found->second > server_.milliseconds();
}

std::int64_t PermitsHistory::live() {
  std::int64_t number = 0;
  for (const auto& [permit, ends] : permits_in_use()) number += ends > server_.milliseconds();
  return number;
}

std::int64_t PermitsHistory::counter() {
  const std::string* free = server_.data().get<std::string>(name_.text());
  return free == nullptr ? 0 : std::stoll(*free);
}

void PermitsHistory::executed(const script::Script& script, const Words& command,
                              const Answer& /*answer*/) {
  const InUse before = std::exchange(in_use_, permits_in_use());
  const auto used = static_cast<std::int64_t>(in_use_.size());
  if (counter() < 0 || counter() + used != permits_) {
    blame(std::to_string(used) + " permits are in use and " + std::to_string(counter()) +
          " are free, of " + std::to_string(permits_));
  }
  ++grants_;
  const std::string_view step = script.name;
  const std::size_t arguments = 3 + std::stoul(command[2]);
  const bool takes = step == "permit_semaphore/acquire";
  const bool together = step == "permit_semaphore/release_many";
  const bool names = takes || together || step == "permit_semaphore/release";
  const std::vector<std::string> permits =
      names ? ids(command[arguments + (together ? 2 : 0)]) : std::vector<std::string>();
  took(takes ? permits : std::vector<std::string>(), before);
  gave_back(step, takes ? std::vector<std::string>() : permits, before);
}

// All of them or none, and none that an owner has had before.
void PermitsHistory::took(const std::vector<std::string>& permits, const InUse& before) {
  std::size_t taken = 0;
  for (const auto& [permit, ends] : in_use_) {
    if (before.count(permit) != 0) continue;
    ++taken;
    if (std::find(permits.begin(), permits.end(), permit) == permits.end()) {
      blame("a permit is given out that was not requested");
    }
    // A reply that is late for longer than the lease makes the step repeat what has expired.
    const bool repeats = at_least(Climate::kStalls) && had_.count(permit) == 0;
    if (!given_.insert(permit).second && !repeats) blame("a permit is given out once more");
  }
  if (taken != 0 && taken != permits.size()) {
    blame(std::to_string(taken) + " permits of " + std::to_string(permits.size()) +
          " are given out");
  }
}

// Those that the step names, and those whose lease was over. Of several together all or none.
void PermitsHistory::gave_back(std::string_view script, const std::vector<std::string>& permits,
                               const InUse& before) {
  std::size_t back = 0;
  for (const auto& [permit, ends] : before) {
    if (in_use_.count(permit) != 0) continue;
    const bool named = std::find(permits.begin(), permits.end(), permit) != permits.end();
    back += named ? 1 : 0;
    if (!named && ends > server_.milliseconds()) {
      blame(std::string(script) + " gives back a permit that it does not name");
    }
  }
  if (script == "permit_semaphore/release_many" && back != 0 && back != permits.size()) {
    blame(std::to_string(back) + " permits of " + std::to_string(permits.size()) +
          " are given back together");
  }
}

bool PermitsHistory::all_over() const {
  return std::all_of(users_.begin(), users_.end(), [](const auto& user) { return user->over(); });
}

// A waiter sleeps beside permits that are free.
bool PermitsHistory::stalled() {
  const std::int64_t free = permits_ - live();
  if (free <= 0 || !server_.well()) return false;
  const std::string channel = sync::keys::kSemaphoreChannel.of(name_);
  return std::any_of(users_.begin(), users_.end(), [&](const auto& user) {
    return user->waits() && holder(user).wanted() <= free &&
           user->client().reachable(network_, channel);
  });
}

// Permits are in use of which no owner knows.
bool PermitsHistory::orphaned() {
  if (at_least(Climate::kStalls)) return false;
  for (const auto& [permit, ends] : permits_in_use()) {
    const std::string& id = permit;
    const bool known = std::any_of(users_.begin(), users_.end(), [&id](const auto& user) {
      return holder(user).answers_for(id);
    });
    if (!known && ends > server_.milliseconds()) return true;
  }
  return false;
}

void PermitsHistory::check() {
  for (const auto& user : users_) static_cast<PermitHolder&>(*user).check();
  bound(stalled(), stalled_since_, "a waiter sleeps beside its permits");
  bound(orphaned(), orphaned_since_, "permits are in use of which no owner knows");
}

Report PermitsHistory::run() {
  const TimePoint start = world_.now();
  if (go_on(start + kLongest, true)) {
    for (const auto& user : users_) {
      if (!user->over()) blame("does not end: " + user->describe());
    }
    if (rest(start, Millis(8000))) check_end();
  }
  Report report = this->report();
  report.grants = grants_;
  return report;
}

// Everything has come back or has expired, and nothing is renewed any more.
void PermitsHistory::check_end() {
  if (live() != 0) blame(std::to_string(live()) + " permits are still in use");
  for (const std::string& key : server_.data().keys()) {
    const bool stays = key == name_.bytes() || key == sync::keys::kPermitTimeouts.of(name_);
    if (!stays) blame(key + " is left behind");
  }
}

}  // namespace holdfast::simulation
