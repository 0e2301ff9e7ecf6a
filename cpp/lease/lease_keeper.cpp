#include "lease/lease_keeper.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "lease/hold_record.h"

namespace holdfast::lease {

namespace {
constexpr std::size_t kMostLosses = 10'000;
}  // namespace

std::size_t LeaseKeeper::KeyHash::operator()(const Key& key) const {
  return std::hash<std::string_view>()(key.name) * 31 + static_cast<std::size_t>(key.owner);
}

LeaseKeeper::LeaseKeeper(const Clock& clock, net::Loop& loop, std::string client_id,
                         std::shared_ptr<EventSink> events, std::shared_ptr<Stats> stats)
    : clock_(clock),
      loop_(loop),
      client_id_(std::move(client_id)),
      events_(std::move(events)),
      stats_(std::move(stats)),
      wheel_(clock.now()) {}

LeaseKeeper::~LeaseKeeper() = default;

void LeaseKeeper::set_topology(std::weak_ptr<topology::Topology> topology) {
  const MutexLock guard(mutex_);
  topology_ = std::move(topology);
}

Hold* LeaseKeeper::find(const LockName& name, OwnerNumber owner) const {
  const auto found = holds_.find(Key(name, owner));
  return found == holds_.end() ? nullptr : found->second.get();
}

int LeaseKeeper::count(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex_);
  const Hold* hold = find(name, owner);
  return hold != nullptr && hold->trusted_at(clock_.now()) ? hold->levels.count() : 0;
}

bool LeaseKeeper::knows(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex_);
  return find(name, owner) != nullptr || ledger_.find(name, owner) != nullptr;
}

bool LeaseKeeper::lost(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex_);
  const Hold* hold = find(name, owner);
  return hold != nullptr && hold->lost_at(clock_.now());
}

std::optional<std::string> LeaseKeeper::loss(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex_);
  const Hold* hold = find(name, owner);
  if (hold == nullptr || !hold->lost_at(clock_.now())) return std::nullopt;
  return hold->reason ? *hold->reason : kRanOut;
}

std::optional<Duration> LeaseKeeper::left(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex_);
  const Hold* hold = find(name, owner);
  const TimePoint now = clock_.now();
  if (hold == nullptr || !hold->trusted_at(now)) return std::nullopt;
  return hold->trusted() - now;
}

std::optional<std::int64_t> LeaseKeeper::token(const LockName& name, OwnerNumber owner) const {
  const MutexLock guard(mutex_);
  const Hold* hold = find(name, owner);
  if (hold == nullptr || hold->token == 0 || !hold->trusted_at(clock_.now())) return std::nullopt;
  return hold->token;
}

bool LeaseKeeper::granted(const Grant& grant, Attempt& attempt) {
  const MutexLock guard(mutex_);
  if (closing_) return false;
  leave(attempt);
  drop_pending(grant.name, grant.owner);
  Hold* hold = find(grant.name, grant.owner);
  if (hold != nullptr && !hold->held()) {
    erase(*hold);
    hold = nullptr;
  }
  if (hold == nullptr) hold = add_hold(grant);
  hold->levels.set_count(grant.count - 1);
  hold->levels.push(grant.lease.renewed);
  hold->listen(grant.listener);
  hold->token = grant.token.value_or(hold->token);
  if (grant.lease.renewed) {
    hold->lease = grant.lease.time;
    const Millis part = hold->shortened.part_of(grant.lease.time, grant.sent);
    hold->next_renewal = renewal_after(grant.sent, part, 0);
  } else {
    hold->fixed_lease = grant.lease.time;
  }
  hold->set_lease(grant.sent, grant.lease.time, grant.sent);
  if (grant.at_least > Millis(0)) {
    hold->closed_until = std::max(hold->closed_until, after(hold->granted, grant.at_least));
  }
  arm(*hold, grant.sent);
  return true;
}

// A client that always uses new names, and lets the leases run out, would keep all of them.
void LeaseKeeper::forget_old_losses() {
  while (losses_.size() > kMostLosses) {
    const HoldPtr hold = losses_.front().lock();
    losses_.pop_front();
    if (hold && hold->ticket != 0 && hold->state == HoldState::kLost) erase(*hold);
  }
}

Hold* LeaseKeeper::add_hold(const Grant& grant) {
  forget_old_losses();
  const auto fresh = std::make_shared<Hold>(weak_from_this(), grant);
  fresh->ticket = ++tickets_;
  fresh->granted = clock_.now();
  holds_.emplace(Key(fresh->name, fresh->owner), fresh);
  ++holds_of_[grant.owner];
  count(*fresh, Stats::Counter::kHeld);
  return fresh.get();
}

void LeaseKeeper::arm(Hold& hold, TimePoint now) {
  const bool renew = hold.renewed() && !hold.in_flight && !hold.detaching;
  const TimePoint end = hold.trusted();
  const TimePoint at = renew ? std::min(hold.next_renewal, end) : end;
  wheel_.arm(hold.timer, std::max(at, now));
  if (at < armed_) {
    armed_ = at;
    loop_.drive(shared_from_this());
  }
}

std::uint32_t LeaseKeeper::begin_extension(const LockName& name, OwnerNumber owner, Millis lease) {
  const MutexLock guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold == nullptr || !hold->held()) return 0;
  const TimePoint now = clock_.now();
  hold->levels.all_leased();
  hold->fixed_lease = lease;
  hold->set_until = std::min(hold->set_until, trusted_until(now, lease));
  arm(*hold, now);
  return ++hold->extensions;
}

void LeaseKeeper::extended(const LockName& name, OwnerNumber owner, const Extension& extension,
                           TimePoint sent) {
  const MutexLock guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold == nullptr || !hold->held()) return;
  const TimePoint until = trusted_until(sent, hold->sure(extension.lease));
  const bool newest = extension.number == hold->extensions;
  hold->set_until = newest ? until : std::min(hold->set_until, until);
  arm(*hold, sent);
}

void LeaseKeeper::lose(const LockName& name, OwnerNumber owner, const std::string& reason) {
  const MutexLock guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold != nullptr && hold->state != Hold::State::kLost) note_lost(*hold, reason);
}

void LeaseKeeper::forget_loss(const LockName& name, OwnerNumber owner) {
  const MutexLock guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold != nullptr && hold->state == Hold::State::kLost) erase(*hold);
}

void LeaseKeeper::forget_listener(const LockName& name, OwnerNumber owner, std::uint64_t listener) {
  const MutexLock guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold != nullptr) hold->forget(listener);
}

void LeaseKeeper::forced(const LockName& name) {
  const MutexLock guard(mutex_);
  for (const auto& [key, hold] : holds_) {
    // A release under way learns by its own answer what it has met.
    const bool of_it = hold->name.bytes() == name.bytes();
    if (of_it && hold->held()) note_lost(*hold, "it was released by force");
  }
}

void LeaseKeeper::mind_overlong(const LockName& name, OwnerNumber owner, Millis left) {
  const MutexLock guard(mutex_);
  if (!overlong_.admits(name.bytes(), clock_.now())) return;
  const std::string seconds = std::to_string(left.count() / 1000);
  events_->post({Event::Kind::kOverlong,
                 name.bytes(),
                 static_cast<std::uint64_t>(owner),
                 {},
                 "is held for another " + seconds +
                     " s: its owner set a lease of that length, or the server's clock was set "
                     "back; force_release() frees it"});
}

void LeaseKeeper::count(const Hold& hold, Stats::Counter counter, std::int64_t amount) {
  if (hold.counted) stats_->add(counter, amount);
}

void LeaseKeeper::count_end(const Hold& hold, TimePoint now) {
  if (hold.held() && hold.counted) stats_->hold_ended(now - hold.since);
}

void LeaseKeeper::note_lost(Hold& hold, const std::string& reason) {
  count_end(hold, clock_.now());
  count(hold, Stats::Counter::kLost);
  retire(hold, Hold::State::kLost);
  hold.reason = std::make_unique<std::string>(reason);
  losses_.push_back(hold.weak_from_this());
  post(hold, Event::Kind::kLost);
}

void LeaseKeeper::post(const Hold& hold, Event::Kind kind) {
  Event event{kind, hold.name.bytes(), static_cast<std::uint64_t>(hold.owner), hold.listeners,
              hold.reason ? *hold.reason : std::string()};
  if (hold.token != 0) event.token = hold.token;
  events_->post(std::move(event));
}

void LeaseKeeper::retire(Hold& hold, HoldState state) {
  hold.state = state;
  hold.timer.disarm();
  hold.abandon();
}

void LeaseKeeper::erase(Hold& hold) {
  const HoldPtr taken = take(hold);
  taken->timer.disarm();
  taken->abandon();
  taken->ticket = 0;
}

LeaseKeeper::HoldPtr LeaseKeeper::take(Hold& hold) {
  const auto of = holds_of_.find(hold.owner);
  if (--of->second == 0) holds_of_.erase(of);
  const auto found = holds_.find(Key(hold.name, hold.owner));
  HoldPtr taken = std::move(found->second);
  holds_.erase(found);
  return taken;
}

void LeaseKeeper::owner_ended(OwnerNumber owner, const std::string& what) {
  const MutexLock guard(mutex_);
  ledger_.owner_ended(owner);
  if (holds_of_.count(owner) == 0) return;
  std::vector<HoldPtr> left;
  for (const auto& [key, hold] : holds_) {
    if (key.owner == owner) left.push_back(hold);
  }
  for (const HoldPtr& hold : left) {
    if (hold->held()) {
      hold->reason = std::make_unique<std::string>(what);
      post(*hold, Event::Kind::kAbandoned);
      remember_ended(*hold, what);
      count_end(*hold, clock_.now());
      count(*hold, Stats::Counter::kLost);
    }
    erase(*hold);
  }
}

void LeaseKeeper::begin_close(std::function<void()> on_idle) {
  const MutexLock guard(mutex_);
  closing_ = true;
  on_idle_ = std::move(on_idle);
}

bool LeaseKeeper::closing() const {
  const MutexLock guard(mutex_);
  return closing_;
}

bool LeaseKeeper::idle() const {
  const MutexLock guard(mutex_);
  return acquisitions_ == 0 && ledger_.pending() == 0;
}

bool LeaseKeeper::acquiring() const {
  const MutexLock guard(mutex_);
  return acquisitions_ > 0;
}

void LeaseKeeper::tell_idle() const {
  if (closing_ && on_idle_ && acquisitions_ == 0 && ledger_.pending() == 0) on_idle_();
}

std::vector<LeaseKeeper::Held> LeaseKeeper::held() const {
  const MutexLock guard(mutex_);
  std::vector<Held> all;
  for (const auto& [key, hold] : holds_) {
    if (hold->held()) all.push_back({hold->name, hold->owner, hold->renewal});
  }
  return all;
}

bool LeaseKeeper::closed() const {
  const MutexLock guard(mutex_);
  return closed_;
}

std::vector<std::string> LeaseKeeper::close() {
  const MutexLock guard(mutex_);
  std::vector<std::string> held = ledger_.names();
  closing_ = closed_ = true;
  on_idle_ = {};
  for (const auto& [key, hold] : holds_) {
    hold->timer.disarm();
    count_end(*hold, clock_.now());
    if (hold->held()) held.emplace_back(key.name);
  }
  holds_.clear();
  holds_of_.clear();
  losses_.clear();
  ledger_.clear();
  loop_.drive(shared_from_this());
  return held;
}

}  // namespace holdfast::lease
