#include "simulation/semaphore_history.h"

#include <algorithm>
#include <utility>

#include "locks/sync/operation/calls.h"
#include "locks/sync/recipes/keys.h"
#include "locks/sync/recipes/kinds.h"
#include "support/calls.h"

namespace holdfast::simulation {

namespace {

using sync::Verdict;

class Taker final : public CounterUser {
 public:
  Taker(const Stage& stage, std::shared_ptr<Client> client, int rounds, SemaphoreHistory& history,
        std::int64_t most)
      : CounterUser(stage, std::move(client), rounds), history_(history), most_(most) {}

  std::string describe() const override {
    const char* what = giving_back_ ? " gives back " : " takes ";
    return client_->plan().id + what + std::to_string(wanted_) + " by " + request_;
  }
  std::int64_t wanted() const { return wanted_; }
  // Whether it has, or may have, the permits of this request.
  bool answers_for(const std::string& request) const { return request_ == request && open_; }

 private:
  void next(int round) override {
    if (held_ > 0) return world().random.chance(300) ? hold() : give_back();
    if (round <= 0) return stop();
    take();
  }

  // Sometimes long enough that no waiter is woken by permits that come back meanwhile.
  void hold() { think(world().random.chance(200) ? Millis(4000) : Millis(5)); }

  void take() {
    Random& random = world().random;
    const Millis memory = sync::request_memory(*client_->context());
    wanted_ = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most_)));
    const auto in_slot = client_->context()->slots->take();
    request_ = sync::keys::kRequest.of(stage_.name) +
               owner_field(client_->plan().id, in_slot->slot) + '#' +
               std::to_string(in_slot->number);
    sync::AcquireRequest request{synchronizer(sync::semaphore().recipe, stage_.name),
                                 {in_slot->slot, {memory, false}}};
    request.slot = in_slot;
    request.amount = wanted_;
    request.blocking = blocking_ = !random.chance(150);
    // Where a release may fail there may never be enough again.
    const bool hurries = random.chance(400) || stage_.failures;
    if (hurries) request.timeout = random.between({}, Millis(600));
    deadline_ = after(world().now(), request.timeout);
    giving_back_ = false;
    open_ = true;
    start(acquire_call(client_->context(), request), blocking_, true);
  }

  void give_back() {
    giving_back_ = true;
    const sync::CounterStep& release = *sync::semaphore().find("release");
    start(sync::counter_call(client_->context(), stage_.name, release, held_), false, false);
  }

  void ended(const sync::Outcome& outcome) override {
    if (giving_back_) {
      if (outcome.verdict == Verdict::kFailed) history_.give_up(held_);
      held_ = 0;
      open_ = false;
    } else {
      taken(outcome.verdict);
    }
  }

  void taken(Verdict verdict) {
    expect(verdict != Verdict::kBusy || !blocking_, "a blocking acquisition ended busy");
    expect(verdict != Verdict::kTimedOut || world().now() >= deadline_, "timed out too early");
    if (verdict != Verdict::kGranted) {
      open_ = false;
      return;
    }
    expect(history_.may_have(request_), "got permits that the server has not granted");
    history_.acknowledged(request_);
    held_ = wanted_;
  }

  void cancelled() override { open_ = false; }

  SemaphoreHistory& history_;
  const std::int64_t most_;
  std::int64_t wanted_ = 0;
  std::int64_t held_ = 0;
  std::string request_;
  bool giving_back_ = false;
  bool blocking_ = true;
  bool open_ = false;  // it asks for them, has them, or gives them back
  TimePoint deadline_ = kNever;
};

}  // namespace

SemaphoreHistory::SemaphoreHistory(std::uint64_t seed, bool tracing)
    : CounterHistory(seed, tracing),
      permits_(1 + static_cast<std::int64_t>(world_.random.below(4))) {
  server_.data().set(name_.text(), {std::to_string(permits_), {}});
  plan_users();
  plan_faults();
}

std::shared_ptr<CounterUser> SemaphoreHistory::make_user(const std::shared_ptr<Client>& client,
                                                         int rounds) {
  return std::make_shared<Taker>(stage(), client, rounds, *this, permits_);
}

bool SemaphoreHistory::may_have(const std::string& request) const {
  if (too_late()) return true;
  const auto found = requests_.find(request);
  return found != requests_.end() && found->second.taken > 0 && !found->second.undone;
}

void SemaphoreHistory::changed(std::string_view script, const std::string& request,
                               const Words& command, std::int64_t by) {
  const std::size_t arguments = 3 + std::stoul(command[2]);
  if (script == "semaphore/acquire") took(request, by, std::stoll(command[arguments + 2]));
  if (script == "semaphore/add_permits") gave(request, by, std::stoll(command[arguments + 2]));
  if (script == "semaphore/undo") took_back(request, by);
  if (value() < 0 || value() > permits_) {
    blame(std::to_string(value()) + " of " + std::to_string(permits_) + " permits are free");
  }
}

void SemaphoreHistory::took(const std::string& id, std::int64_t by, std::int64_t wanted) {
  if (by == 0) return;
  Request& request = requests_[id];
  if (request.taken > 0) blame(id + " takes twice");
  if (request.undone) blame(id + " takes after it was taken back");
  if (-by != wanted) blame(id + " takes what it did not ask for");
  request.taken = -by;
  unknown_.insert(id);
}

void SemaphoreHistory::took_back(const std::string& id, std::int64_t by) {
  Request& request = requests_[id];
  if (by != 0 && (request.undone || by != request.taken)) blame(id + " is taken back twice");
  request.undone = true;
  unknown_.erase(id);
}

void SemaphoreHistory::gave(const std::string& id, std::int64_t by, std::int64_t wanted) {
  if (by == 0) return;
  Request& request = requests_[id];
  if (request.added > 0) blame(id + " gives back twice");
  if (by != wanted) blame(id + " gives back what it was not asked to");
  request.added = by;
}

// A waiter sleeps beside permits that are free.
bool SemaphoreHistory::stalled() {
  const std::int64_t free = value();
  if (free <= 0 || !server_.well()) return false;
  const std::string channel = sync::keys::kSemaphoreChannel.of(name_);
  return std::any_of(users_.begin(), users_.end(), [&](const auto& user) {
    const auto& taker = static_cast<const Taker&>(*user);
    return taker.waits() && taker.wanted() <= free && taker.client().reachable(network_, channel);
  });
}

// Permits were taken that were neither reported to a caller nor given back.
bool SemaphoreHistory::orphaned() const {
  if (at_least(Climate::kStalls) || too_late()) return false;
  return std::any_of(unknown_.begin(), unknown_.end(), [&](const std::string& request) {
    return std::none_of(users_.begin(), users_.end(), [&](const auto& user) {
      return static_cast<const Taker&>(*user).answers_for(request);
    });
  });
}

void SemaphoreHistory::check() {
  bound(stalled(), stalled_since_, "a waiter sleeps beside its permits");
  bound(orphaned(), orphaned_since_, "permits are taken that no caller knows of");
}

// Everything has come back but what could not be, and there is not more than there was.
void SemaphoreHistory::check_end() {
  if (too_late()) return;
  const bool sure = !at_least(Climate::kStalls);
  const std::int64_t missing = permits_ - value();
  if (missing < 0 || (sure && missing > given_up_)) {
    blame(std::to_string(missing) + " permits are missing");
  }
}

}  // namespace holdfast::simulation
