#include "simulation/actor.h"

#include <algorithm>
#include <utility>

#include "locks/lease/overview.h"
#include "locks/sync/operation/calls.h"
#include "locks/sync/operation/hold_release.h"

namespace holdfast::simulation {

using sync::Verdict;

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGranted:
      return "granted";
    case Verdict::kBusy:
      return "busy";
    case Verdict::kTimedOut:
      return "timed out";
    case Verdict::kGone:
      return "gone";
    case Verdict::kObjected:
      return "objected";
    case Verdict::kExpired:
      return "expired";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kCancelled:
      return "cancelled";
  }
  return "?";
}

std::string text(const LockName& lock) {
  constexpr const char* kSides[] = {"", ".read", ".write"};
  return lock.text() + kSides[static_cast<int>(lock.side())];
}

Actor::Actor(const Stage& stage, std::shared_ptr<Client> client)
    : stage_(stage),
      client_(std::move(client)),
      number_{++stage.numbers},
      field_(owner_field(client_->plan().id, number_)),
      rounds_(stage.script.rounds) {
  stage_.trust.add(number_, field_);
}

// Where owners do not return, each acquisition has a new owner.
void Actor::become_another() {
  for (const auto& [lock, hold] : holds_) {
    if (hold.lost || hold.in_doubt) doubted_.insert(stage_.script.kind.field(lock, field_));
  }
  holds_.clear();
  number_ = OwnerNumber{++stage_.numbers};
  field_ = owner_field(client_->plan().id, number_);
  stage_.trust.add(number_, field_);
}

std::string Actor::describe() const {
  constexpr const char* kActions[] = {"nothing", "acquire", "release", "extend", "force_release"};
  return field() + ": " + kActions[static_cast<int>(asked_.action)] + " " + text(asked_.lock) +
         (operation_ ? " under way" : "");
}

void Actor::expect(bool right, const std::string& otherwise) {
  if (!right) blame(otherwise);
}

void Actor::blame(const std::string& what) {
  if (!stage_.violation) stage_.violation = Violation{field() + ": " + what};
}

bool Actor::waits_for(const LockName& lock) const {
  return operation_ && !mail_ && asked_.action == Action::kAcquire && asked_.blocking &&
         asked_.lock == lock;
}

int Actor::settled_depth(const LockName& lock) const {
  const auto found = holds_.find(lock);
  if (operation_ || found == holds_.end() || found->second.lost || found->second.in_doubt) return 0;
  return found->second.depth;
}

bool Actor::answers_for(const LockName& lock, bool well) const {
  if (operation_ && asked_.lock == lock) return true;
  if (client_->keeper().count(lock, number_) > 0) return true;
  const auto found = holds_.find(lock);
  if (found == holds_.end()) return false;
  const Hold& hold = found->second;
  const bool in_doubt = hold.in_doubt && (stage_.script.cuts || !well);
  return hold.lost || in_doubt || (forgotten_ && hold.depth > 0);
}

void Actor::begin() { think(Millis(3)); }

void Actor::think(Duration most) {
  const auto self = shared_from_this();
  stage_.world.in(stage_.world.random.between({}, most), [self] { self->next(); });
}

void Actor::next() {
  if (over_) return;
  if (client_->closed()) return end();
  if (again_) return release(*std::exchange(again_, std::nullopt));
  if (const LockName* lock = held_one()) {
    const Hold& held = hold(*lock);
    return held.lost || held.in_doubt ? release(*lock) : hold_on(*lock);
  }
  if (rounds_-- <= 0) return end();
  begin_round();
}

void Actor::begin_round() {
  Random& random = stage_.world.random;
  const LockName& lock = stage_.script.locks[random.below(stage_.script.locks.size())];
  if (!returns()) {
    become_another();
  } else if (random.chance(stage_.script.forces)) {
    return force(lock);
  }
  if (random.chance(20)) return release(lock);
  acquire(lock, true);
}

// One of the locks that it holds; of the sides of a name any.
const LockName* Actor::held_one() {
  std::vector<const LockName*> held;
  for (const auto& [lock, hold] : holds_) {
    if (hold.depth > 0) held.push_back(&lock);
  }
  if (held.empty()) return nullptr;
  const bool any = stage_.script.kind.sides().size() > 1;
  return held[any ? stage_.world.random.below(held.size()) : 0];
}

// What to do while it holds a lock.
void Actor::hold_on(const LockName& lock) {
  Random& random = stage_.world.random;
  const Script& script = stage_.script;
  if (random.chance(script.deaths)) return end();
  if (random.chance(script.long_holds)) return think(client_->plan().watch_lease * 2);
  if (!returns()) return random.chance(200) ? think(Millis(5)) : release(lock);
  switch (random.below(10)) {
    case 0:
    case 1:
      return acquire(lock, true);
    case 2:
      return acquire(script.locks[random.below(script.locks.size())], false);
    case 3:
      return extend(lock);
    case 4:
      return think(Millis(5));
    default:
      return release(lock);
  }
}

void Actor::start(sync::ExchangePtr operation, Asked asked) {
  World& world = stage_.world;
  operation_ = std::move(operation);
  asked_ = std::move(asked);
  asked_.since = world.now();
  const Hold& held = hold(asked_.lock);
  asked_.last = asked_.all || held.depth <= 1 || held.in_doubt;
  const int known = client_->keeper().count(asked_.lock, number_);
  expect(known == 0 || known == held.depth || held.in_doubt || held.lost,
         "the client counts " + std::to_string(known) + " holds");
  asked_.first = known == 0;
  const auto left = client_->keeper().known(asked_.lock, number_).left;
  asked_.trusted = left ? world.now() + *left : TimePoint{};
  mail_.reset();
  ++id_;
  world.say(describe());
  const auto self = shared_from_this();
  if (world.random.chance(stage_.script.cancels)) {
    const Duration most = world.random.chance(500) ? Millis(3) : Millis(300);
    world.in(world.random.between({}, most), [self, id = id_] { self->cancel(id); });
  }
  operation_->finish_to(self, id_);
}

void Actor::acquire(const LockName& lock, bool may_block_for_ever) {
  World& world = stage_.world;
  Random& random = world.random;
  sync::AcquireArguments request{number_};
  request.listener = 1 + static_cast<std::uint64_t>(lock.side());
  request.lease = {client_->plan().watch_lease, true};
  if (returns() && random.chance(stage_.script.leases)) {
    const Duration most = random.chance(100) ? Millis(8) : kLongestFixedLease;
    const Duration lease = random.between(Millis(1), most);
    request.lease = {std::chrono::duration_cast<Millis>(lease), false};
  }
  request.blocking = !random.chance(150);
  if (!may_block_for_ever || random.chance(400)) {
    request.timeout = random.between({}, Millis(600));
  }
  ++acquisitions_;
  const bool listens = recipe(lock).traits.waiting != sync::Waiting::kBackOff;
  channel_ = listens ? recipe(lock).channel(lock, field()) : std::string();
  Hold& held = hold(lock);
  held.left = {};  // from now on the server's word may be about this one
  held.leased = !request.lease.renewed || held.may_be_leased();
  const Asked asked{Action::kAcquire, lock, request.blocking, false,
                    after(world.now(), request.timeout)};
  start(acquire_call(client_->context(), {of(lock), request}), asked);
}

// The same for all calls, so that its commands are encoded once.
const sync::SynchronizerPtr& Actor::of(const LockName& lock) {
  for (const auto& known : synchronizers_) {
    if (known->name == lock) return known;
  }
  const auto& options = stage_.script.acquire_options;
  return synchronizers_.emplace_back(synchronizer(recipe(lock), lock, options));
}

void Actor::release(const LockName& lock) {
  const unsigned defers = stage_.script.defers;
  Asked asked{Action::kRelease, lock, false, stage_.world.random.chance(200)};
  asked.deferred = !asked.all && defers > 0 && stage_.world.random.chance(defers);
  using How = lease::Ending::How;
  const lease::Ending ending{asked.all ? How::kAll : How::kInnermost};
  start(release_call(client_->context(), of(lock), {number_, ending, asked.deferred}), asked);
}

void Actor::extend(const LockName& lock) {
  if (stage_.script.leases == 0) return think(Millis(5));
  const auto lease =
      std::chrono::duration_cast<Millis>(stage_.world.random.between(Millis(2), Millis(2000)));
  hold(lock).leased = true;
  start(sync::extend(client_->context(), recipe(lock), lock, number_, lease),
        {Action::kExtend, lock});
}

void Actor::force(const LockName& lock) {
  start(sync::force_release(client_->context(), lock_recipe(lock), lock, number_),
        {Action::kForce, lock});
}

void Actor::end() {
  stage_.world.say(field(), " ends");
  lease::owner_ended(client_->keeper(), number_);
  forgotten_ = !client_->left_behind();
  over_ = true;
}

// As a task of an event loop is cancelled: the outcome may lie in the mail already.
void Actor::cancel(std::uint64_t id) {
  if (id != id_ || !operation_) return;
  Hold& held = hold(asked_.lock);
  stage_.world.say(field(), " is cancelled");
  asked_.cancelled = true;
  const auto operation = std::exchange(operation_, nullptr);
  operation->cancel();
  if (asked_.action == Action::kRelease) {
    const bool leased = held.leased && !asked_.last;
    held = asked_.last ? Hold{0, held.lost, true} : Hold{held.depth - 1, held.lost};
    held.leased = leased;
    if (stage_.world.random.chance(stage_.script.second_releases)) again_ = asked_.lock;
  }
  if (asked_.first && granted_by_mail()) held = {};
  think(Millis(2));
}

bool Actor::granted_by_mail() const {
  return asked_.action == Action::kAcquire && mail_ && mail_->verdict == Verdict::kGranted;
}

void Actor::done(std::uint64_t id, sync::Outcome outcome) {
  stage_.world.say(field(), ": ", word(outcome.verdict), " ", outcome.why.message());
  if (id != id_ || asked_.cancelled) return;
  if (mail_) return blame("an operation ended twice");
  mail_ = std::move(outcome);
  if (granted_by_mail()) {
    hold(asked_.lock).lost = false;
    expect(!client_->closed(), "granted " + text(asked_.lock) + " by a client that closes");
  }
  const auto self = shared_from_this();
  const Duration most = stage_.world.random.chance(500) ? Duration{} : Duration(Millis(1));
  stage_.world.in(stage_.world.random.between({}, most), [self, id] { self->read_mail(id); });
}

bool Actor::may_fail(const sync::Outcome& outcome) const {
  // A grant that was removed by force before replicas could confirm it.
  const bool removed = stage_.ledger.removed(asked_.lock, field());
  const bool hides_loss = outcome.why.code() == Code::kLost;
  return stage_.script.failures || client_->closed() || removed || hides_loss;
}

void Actor::read_mail(std::uint64_t id) {
  if (id != id_ || asked_.cancelled) return;
  const sync::Outcome outcome = std::move(*mail_);
  operation_.reset();
  expect(may_fail(outcome) || outcome.verdict != Verdict::kFailed,
         "failed on a good server: " + outcome.why.message());
  expect(outcome.verdict != Verdict::kGone || !outcome.why.message().empty(),
         "a loss has no reason");
  if (asked_.action == Action::kAcquire) acquired(outcome.verdict);
  if (asked_.action == Action::kRelease) released(outcome.verdict);
  if (asked_.action == Action::kExtend) extended(outcome);
  think(Millis(2));
}

}  // namespace holdfast::simulation
