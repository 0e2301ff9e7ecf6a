#include "simulation/permit_holder.h"

#include <algorithm>
#include <utility>

#include "locks/sync/operation/calls.h"
#include "locks/sync/operation/release.h"
#include "locks/sync/recipes/permit_semaphore.h"
#include "support/calls.h"

namespace holdfast::simulation {

using sync::Verdict;

PermitHolder::PermitHolder(const Stage& stage, std::shared_ptr<Client> client, int rounds,
                           PermitsHistory& history, std::int64_t most)
    : CounterUser(stage, std::move(client), rounds),
      history_(history),
      most_(most),
      semaphore_(synchronizer(sync::permit_kind().renewed, stage.name)) {}

std::string PermitHolder::describe() const {
  constexpr const char* kActions[] = {" takes", " gives back", " gives back together"};
  std::string text = client_->plan().id + kActions[static_cast<int>(action_)];
  for (const OwnerNumber number : asked_) {
    text += ' ' + std::to_string(static_cast<std::uint64_t>(number));
  }
  return text;
}

std::string PermitHolder::permit(OwnerNumber number) const {
  return sync::permit_id(client_->plan().id, number);
}

bool PermitHolder::answers_for(const std::string& permit) const {
  if (client_->closed() || doubted_.count(permit) != 0) return true;
  const auto is_it = [&](OwnerNumber number) { return this->permit(number) == permit; };
  return std::any_of(held_.begin(), held_.end(), is_it) ||
         std::any_of(asked_.begin(), asked_.end(), is_it);
}

void PermitHolder::check() {
  if (over() || client_->closed()) return;
  for (const OwnerNumber number : held_) {
    const bool asked = std::find(asked_.begin(), asked_.end(), number) != asked_.end();
    if (!asked && client_->keeper().count(stage_.name, number) > 0) {
      expect(history_.in_use(permit(number)), "trusts a permit that the server does not have");
    }
    expect(stage_.failures || leased_.count(number) != 0 || !history_.lost(number),
           "has lost a renewed permit on a good server");
  }
}

void PermitHolder::next(int round) {
  asked_.clear();
  Random& random = world().random;
  if (!held_.empty()) {
    if (random.chance(200)) return think(client_->plan().watch_lease * 2);
    if (random.chance(200)) return think(Millis(5));
    if (round > 0 && random.chance(300)) return take();
    return random.chance(500) ? give_together() : give_one();
  }
  if (round <= 0) return stop();
  take();
}

void PermitHolder::take() {
  Random& random = world().random;
  const auto amount = 1 + static_cast<std::int64_t>(random.below(most_));
  sync::AcquireRequest request(semaphore_, {history_.next_numbers(amount)});
  request.lease = {client_->plan().watch_lease, true};
  const bool leased = random.chance(300);
  if (leased) request.lease = {Millis(20 + random.below(1500)), false};
  request.amount = amount;
  request.listener = 1;
  request.blocking = blocking_ = !random.chance(150);
  // Owners that wait for more beside what they have may wait for each other.
  const bool hurries = random.chance(400) || !held_.empty();
  if (hurries) request.timeout = random.between({}, Millis(600));
  deadline_ = after(world().now(), request.timeout);
  for (std::int64_t i = 0; i < amount; ++i) {
    asked_.push_back(owner_after(request.owner, i));
    if (leased) leased_.insert(asked_.back());
  }
  action_ = Action::kTake;
  start(acquire_call(client_->context(), request), blocking_, true);
}

void PermitHolder::give_one() {
  action_ = Action::kGiveOne;
  asked_ = {held_[world().random.below(held_.size())]};
  start(release_call(client_->context(), semaphore_, {asked_.front()}), false, true);
}

// Some of them, in any order.
void PermitHolder::give_together() {
  action_ = Action::kGiveTogether;
  asked_ = held_;
  for (std::size_t i = asked_.size(); i > 1; --i) {
    std::swap(asked_[i - 1], asked_[world().random.below(i)]);
  }
  asked_.resize(1 + world().random.below(asked_.size()));
  const auto lost = client_->keeper().releases.begin_together(stage_.name, asked_);
  if (!lost) return start(release_many(), false, true);
  expect(history_.lost(lost->owner), "a release names a loss that was not reported");
  drop(lost->owner);
  think(Millis(2));
}

// As engine::PermitSemaphore makes it.
sync::ExchangePtr PermitHolder::release_many() {
  const auto& context = client_->context();
  const sync::CounterRequestPtr request = context->slots->take();
  const Millis memory = sync::request_memory(*context);
  std::string permits;
  for (const OwnerNumber number : asked_) permits += permit(number);
  sync::StepRelease::Command release;
  release.memory = memory / 2;
  release.write = [name = stage_.name, context, memory, request, permits](script::Writer& out) {
    sync::Step step = sync::about_permits(name, permits);
    step.owner = {context->client_id, request->slot};
    step.options.memory = memory;
    step.options.request = request->number;
    sync::release_together(out, step);
  };
  release.answered = [keeper = context->keeper, name = stage_.name, owners = asked_](
                         const std::optional<std::int64_t>& value, const client::Sent& /*sent*/) {
    keeper->releases.end_together(name, owners, value.value_or(0) > 0);
  };
  return std::make_shared<sync::StepRelease>(context, stage_.name, request->slot,
                                             std::move(release));
}

void PermitHolder::ended(const sync::Outcome& outcome) {
  if (action_ == Action::kTake) taken(outcome.verdict);
  if (action_ == Action::kGiveOne) given_one(outcome.verdict);
  if (action_ == Action::kGiveTogether) given_together(outcome);
  asked_.clear();
}

void PermitHolder::taken(Verdict verdict) {
  expect(verdict != Verdict::kBusy || !blocking_, "a blocking acquisition ended busy");
  expect(verdict != Verdict::kTimedOut || world().now() >= deadline_, "timed out too early");
  if (verdict != Verdict::kGranted) {
    for (const OwnerNumber number : asked_) {
      if (verdict == Verdict::kFailed) doubted_.insert(permit(number));
    }
    return;
  }
  for (const OwnerNumber number : asked_) {
    expect(history_.had(permit(number)), "got a permit that the server has not given out");
  }
  held_.insert(held_.end(), asked_.begin(), asked_.end());
}

void PermitHolder::given_one(Verdict verdict) {
  const OwnerNumber number = asked_.front();
  if (verdict == Verdict::kFailed) doubted_.insert(permit(number));
  if (verdict == Verdict::kGranted) expect(gone(number), "has given back what is still in use");
  const bool finds_nothing = verdict == Verdict::kGone || verdict == Verdict::kBusy;
  expect(!finds_nothing || history_.lost(number) || client_->closed(),
         "a release finds a permit lost, untold");
  drop(number);
}

void PermitHolder::given_together(const sync::Outcome& outcome) {
  if (outcome.verdict == Verdict::kFailed) return leave();
  const std::int64_t answer = outcome.value.value_or(0);
  if (answer > 0) {
    expect(answer == wanted(), "has given back other than it was to");
    for (const OwnerNumber number : asked_) {
      expect(gone(number), "has given back what is still in use");
      drop(number);
    }
    return;
  }
  expect(answer < 0 && -answer <= wanted(), "a joint release has an answer without a meaning");
  if (answer >= 0 || -answer > wanted()) return;
  const OwnerNumber number = asked_[static_cast<std::size_t>(-answer - 1)];
  expect(gone(number), "a joint release misses a permit that is in use");
  drop(number);
}

void PermitHolder::cancelled() {
  if (action_ == Action::kGiveTogether) leave();
  if (action_ == Action::kGiveOne) {
    doubted_.insert(permit(asked_.front()));
    drop(asked_.front());
  }
  asked_.clear();
}

// They are not renewed any more, and may go back in the background.
void PermitHolder::leave() {
  for (const OwnerNumber number : asked_) {
    client_->keeper().releases.leave_to_lease(stage_.name, number, Millis(0));
    doubted_.insert(permit(number));
    drop(number);
  }
}

void PermitHolder::drop(OwnerNumber number) {
  held_.erase(std::remove(held_.begin(), held_.end(), number), held_.end());
}

bool PermitHolder::gone(OwnerNumber number) const { return !history_.in_use(permit(number)); }

}  // namespace holdfast::simulation
