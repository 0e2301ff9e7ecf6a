#include "lease/lease_keeper.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace holdfast::lease {

namespace {

constexpr Millis kSoonest{250};  // at the latest, after a failed renewal
// Renewals fall on a grid of this width (of a short lease, a hundredth of it), to go out together.
constexpr Millis kGrid{10};
// How long the timer goes on without a hold before it is put away: locks that are taken again and again
// must not wake the watchdog's thread each time.
constexpr Millis kIdle{1000};

TimePoint on_grid(TimePoint at, Millis lease) {
  const Duration width = std::min<Duration>(kGrid, Duration(lease) / 100);
  const Duration since = at.time_since_epoch();
  return TimePoint(since - since % width + width);
}

}  // namespace

// One owner's hold of one lock; as a request, its renewal (or check). Its fields are guarded by the
// keeper's lock, but for what encode() reads: that stays as it is while a renewal is under way.
class LeaseKeeper::Hold final : public client::Request {
 public:
  Hold(std::weak_ptr<LeaseKeeper> keeper_, const Grant& grant)
      : keeper(std::move(keeper_)),
        name(grant.name),
        owner(grant.owner),
        renewal(grant.renewal),
        listener(grant.listener) {
    persistent = true;
    timer.hold = this;
  }

  void encode(std::string& out) const override {
    const std::shared_ptr<LeaseKeeper> to = keeper.lock();
    const std::string field = to ? owner_field(to->client_id_, owner) : std::string();
    if (asked_watched) {
      renewal->renew(out, name, field, asked_lease, by_text);
    } else {
      renewal->check(out, name, field);
    }
  }

  void complete(Result<resp::Reply> reply, const client::Sent& sent) override {
    if (const std::shared_ptr<LeaseKeeper> to = keeper.lock()) to->answered(*this, reply, sent);
  }

  bool watched() const { return watched_levels > 0; }

  struct DueTimer : Timer {
    Hold* hold = nullptr;
  };

  const std::weak_ptr<LeaseKeeper> keeper;
  const LockName name;
  const OwnerNumber owner;
  const Renewal* const renewal;
  std::uint64_t listener;
  std::uint64_t ticket = 0;
  int count = 0;
  std::vector<bool> levels;  // of each nested hold: was it acquired without a lease?
  int watched_levels = 0;
  Millis lease{0};           // of the watched holds
  TimePoint trusted{};       // until when the hold may be believed to be there
  TimePoint next_renewal = kNever;
  DueTimer timer;
  bool releasing = false;
  bool superseded = false;  // while releasing: its owner has asked for it again
  bool settled = false;  // released, but its owner does not know yet
  bool lost = false;
  bool told = false;     // of the loss, by a release
  std::string reason;    // of the loss
  bool in_flight = false;
  bool by_text = false;
  bool asked_watched = false;  // what is in flight: a renewal, or a check
  Millis asked_lease{0};
};

std::size_t LeaseKeeper::KeyHash::operator()(const Key& key) const {
  return std::hash<std::string_view>()(key.name) * 31 + static_cast<std::size_t>(key.owner);
}

LeaseKeeper::LeaseKeeper(const Clock& clock, net::Loop& loop, std::string client_id,
                         std::shared_ptr<EventSink> events)
    : clock_(clock),
      loop_(loop),
      client_id_(std::move(client_id)),
      events_(std::move(events)),
      wheel_(clock.now()) {}

LeaseKeeper::~LeaseKeeper() = default;

void LeaseKeeper::set_topology(std::weak_ptr<topology::Topology> topology) {
  const Guard guard(mutex_);
  topology_ = std::move(topology);
}

LeaseKeeper::Hold* LeaseKeeper::find(const LockName& name, OwnerNumber owner) const {
  const auto found = holds_.find(Key{name.bytes(), owner});
  return found == holds_.end() ? nullptr : found->second.get();
}

int LeaseKeeper::count(const LockName& name, OwnerNumber owner) const {
  const Guard guard(mutex_);
  const Hold* hold = find(name, owner);
  const bool holds = hold != nullptr && !hold->lost && !hold->releasing && clock_.now() < hold->trusted;
  return holds ? hold->count : 0;
}

bool LeaseKeeper::lost(const LockName& name, OwnerNumber owner) const {
  const Guard guard(mutex_);
  const Hold* hold = find(name, owner);
  return hold != nullptr && (hold->lost || (!hold->releasing && clock_.now() >= hold->trusted));
}

std::optional<Duration> LeaseKeeper::left(const LockName& name, OwnerNumber owner) const {
  const Guard guard(mutex_);
  const Hold* hold = find(name, owner);
  const TimePoint now = clock_.now();
  if (hold == nullptr || hold->lost || hold->releasing || now >= hold->trusted) return std::nullopt;
  return hold->trusted - now;
}

int LeaseKeeper::begin_attempt(const LockName& name, OwnerNumber owner) {
  const Guard guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold == nullptr || hold->lost) return 1;
  hold->superseded = hold->releasing;
  return hold->releasing || clock_.now() >= hold->trusted ? 1 : hold->count + 1;
}

bool LeaseKeeper::superseded(const LockName& name, OwnerNumber owner,
                             const ReleasePlan& plan) const {
  const Guard guard(mutex_);
  const Hold* hold = find(name, owner);
  return hold != nullptr && (hold->ticket != plan.ticket || hold->superseded);
}

void LeaseKeeper::granted(const Grant& grant) {
  const Guard guard(mutex_);
  if (closed_) return;
  Hold* hold = find(grant.name, grant.owner);
  if (hold != nullptr && (hold->lost || hold->releasing)) {
    erase(*hold);
    hold = nullptr;
  }
  if (hold == nullptr) {
    auto fresh = std::make_shared<Hold>(weak_from_this(), grant);
    hold = fresh.get();
    hold->ticket = ++tickets_;
    holds_.emplace(Key{hold->name.bytes(), hold->owner}, std::move(fresh));
    ++holds_of_[grant.owner];
  }
  hold->count = grant.count;
  hold->levels.resize(static_cast<std::size_t>(grant.count), false);
  hold->levels.back() = grant.lease.watched;
  hold->watched_levels =
      static_cast<int>(std::count(hold->levels.begin(), hold->levels.end(), true));
  if (grant.listener != 0) hold->listener = grant.listener;
  if (grant.lease.watched) {
    hold->lease = grant.lease.time;
    hold->next_renewal = on_grid(grant.sent + Duration(grant.lease.time) / 3, grant.lease.time);
  }
  hold->trusted = std::max(hold->trusted, trusted_until(grant.sent, grant.lease.time));
  arm(*hold, grant.sent);
}

void LeaseKeeper::arm(Hold& hold, TimePoint now) {
  const bool renew = hold.watched() && !hold.in_flight;
  const TimePoint at = renew ? std::min(hold.next_renewal, hold.trusted) : hold.trusted;
  wheel_.arm(hold.timer, std::max(at, now));
  if (at < armed_) {
    armed_ = at;
    loop_.drive(shared_from_this());
  }
}

ReleasePlan LeaseKeeper::begin_release(const LockName& name, OwnerNumber owner, bool all) {
  using Verdict = ReleasePlan::Verdict;
  const Guard guard(mutex_);
  ReleasePlan plan;
  Hold* hold = find(name, owner);
  if (hold == nullptr) return plan;
  if (!hold->lost && !hold->releasing && clock_.now() >= hold->trusted) {
    note_lost(*hold, "its lease ran out");
  }
  plan.ticket = hold->ticket;
  plan.trusted = hold->trusted;
  if (hold->lost) {
    // `lost` stays to be seen until the next grant; the error comes once.
    plan.verdict = std::exchange(hold->told, true) ? Verdict::kNotOwned : Verdict::kLost;
    plan.reason = hold->reason;
    return plan;
  }
  if (hold->settled) {
    plan.verdict = Verdict::kDone;
    erase(*hold);
    return plan;
  }
  plan.repeated = hold->releasing;
  plan.remaining = all || hold->releasing ? 0 : hold->count - 1;
  plan.verdict = plan.remaining > 0 ? Verdict::kPartial : Verdict::kFinal;
  if (plan.verdict == Verdict::kFinal) {
    hold->releasing = true;
    hold->timer.disarm();
    hold->abandon();
  }
  return plan;
}

void LeaseKeeper::released(const LockName& name, OwnerNumber owner, const ReleasePlan& plan) {
  const Guard guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold == nullptr || hold->ticket != plan.ticket) return;
  if (plan.remaining == 0) return erase(*hold);
  hold->count = plan.remaining;
  hold->levels.resize(static_cast<std::size_t>(plan.remaining));
  hold->watched_levels =
      static_cast<int>(std::count(hold->levels.begin(), hold->levels.end(), true));
}

void LeaseKeeper::released_late(const LockName& name, OwnerNumber owner, const ReleasePlan& plan,
                                bool confirmed) {
  const Guard guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold == nullptr || hold->ticket != plan.ticket || !hold->releasing) return;
  if (confirmed) {
    hold->settled = true;
  } else {
    hold->lost = true;
    hold->reason = "its lease ran out before the server could be told of its release";
  }
}

void LeaseKeeper::begin_extension(const LockName& name, OwnerNumber owner, Millis lease) {
  const Guard guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold == nullptr || hold->lost || hold->releasing) return;
  const TimePoint now = clock_.now();
  hold->levels.assign(hold->levels.size(), false);
  hold->watched_levels = 0;
  hold->trusted = std::min(hold->trusted, trusted_until(now, lease));
  arm(*hold, now);
}

void LeaseKeeper::extended(const LockName& name, OwnerNumber owner, Millis lease, TimePoint sent) {
  const Guard guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold == nullptr || hold->lost || hold->releasing) return;
  hold->trusted = trusted_until(sent, lease);
  arm(*hold, sent);
}

void LeaseKeeper::lose(const LockName& name, OwnerNumber owner, const std::string& reason) {
  const Guard guard(mutex_);
  Hold* hold = find(name, owner);
  if (hold != nullptr && !hold->lost) note_lost(*hold, reason);
}

void LeaseKeeper::forced(const LockName& name) {
  const Guard guard(mutex_);
  for (const auto& [key, hold] : holds_) {
    // A release under way learns by its own answer what it has met.
    const bool held = key.name == name.bytes() && !hold->lost && !hold->releasing;
    if (held) note_lost(*hold, "it was released by force");
  }
}

void LeaseKeeper::note_lost(Hold& hold, const std::string& reason) {
  hold.lost = true;
  hold.reason = reason;
  hold.releasing = false;
  hold.timer.disarm();
  hold.abandon();
  events_->post({Event::Kind::kLost, hold.name.bytes(), static_cast<std::uint64_t>(hold.owner),
                 hold.listener, reason});
}

void LeaseKeeper::erase(Hold& hold) {
  hold.timer.disarm();
  hold.abandon();
  hold.ticket = 0;
  const auto of = holds_of_.find(hold.owner);
  if (--of->second == 0) holds_of_.erase(of);
  holds_.erase(Key{hold.name.bytes(), hold.owner});
}

void LeaseKeeper::owner_ended(OwnerNumber owner) {
  const Guard guard(mutex_);
  if (holds_of_.count(owner) == 0) return;
  std::vector<HoldPtr> left;
  for (const auto& [key, hold] : holds_) {
    if (key.owner == owner) left.push_back(hold);
  }
  for (const HoldPtr& hold : left) {
    if (!hold->lost && !hold->releasing) {
      events_->post({Event::Kind::kAbandoned, hold->name.bytes(), static_cast<std::uint64_t>(owner),
                     hold->listener, {}});
    }
    erase(*hold);
  }
}

void LeaseKeeper::verify() {
  const Guard guard(mutex_);
  if (holds_.empty() || closed_) return;
  verify_ = true;
  loop_.drive(shared_from_this());
}

std::vector<std::string> LeaseKeeper::close() {
  const Guard guard(mutex_);
  std::vector<std::string> held;
  closed_ = true;
  for (const auto& [key, hold] : holds_) {
    hold->timer.disarm();
    if (!hold->lost && !hold->releasing) held.emplace_back(key.name);
  }
  holds_.clear();
  holds_of_.clear();
  loop_.drive(shared_from_this());
  return held;
}

net::Interest LeaseKeeper::step(TimePoint now) {
  std::vector<HoldPtr> renewals;
  net::Interest next;
  {
    const Guard guard(mutex_);
    while (Timer* timer = wheel_.pop_due(now)) {
      due(*static_cast<Hold::DueTimer*>(timer)->hold, now, renewals);
    }
    if (std::exchange(verify_, false)) {
      for (const auto& [key, hold] : holds_) {
        if (!hold->lost && !hold->releasing && !hold->in_flight) renewals.push_back(hold);
      }
    }
    for (const HoldPtr& hold : renewals) {
      hold->in_flight = true;
      hold->asked_watched = hold->watched();
      // An outer hold with a longer lease of its own must not be cut short.
      hold->asked_lease = std::max(hold->lease, lease_until(now, hold->trusted));
      hold->deadline = hold->trusted;
      arm(*hold, now);
    }
    const bool empty = wheel_.size() == 0;
    next.done = closed_ || (empty && idle_);
    next.until = armed_ = next.done ? kNever : empty ? after(now, kIdle) : wheel_.next();
    idle_ = empty;
  }
  submit(renewals);
  return next;
}

void LeaseKeeper::due(Hold& hold, TimePoint now, std::vector<HoldPtr>& renewals) {
  if (now >= hold.trusted) {
    note_lost(hold, hold.watched() ? "no renewal got through before its lease was over"
                                   : "its lease ran out");
  } else if (hold.watched() && !hold.in_flight && hold.next_renewal <= now) {
    renewals.push_back(holds_.at(Key{hold.name.bytes(), hold.owner}));
  } else {
    arm(hold, now);
  }
}

void LeaseKeeper::submit(const std::vector<HoldPtr>& renewals) {
  std::shared_ptr<topology::Topology> topology;
  {
    const Guard guard(mutex_);
    topology = topology_.lock();
  }
  if (!topology) return;
  for (const HoldPtr& hold : renewals) {
    const auto connection =
        topology->route(hold->renewal->key(hold->name), topology::Traffic::kRenewals);
    const Status closed = connection->submit(hold);
    if (!closed.ok()) return;
  }
}

void LeaseKeeper::answered(Hold& hold, const Result<resp::Reply>& reply, const client::Sent& sent) {
  const Guard guard(mutex_);
  hold.in_flight = false;
  hold.by_text = false;
  if (hold.ticket == 0 || hold.lost || hold.releasing) return;
  const TimePoint now = clock_.now();
  const bool answer = reply.ok() && reply.value().is_integer();
  if (answer && reply.value().integer() == 0) {
    return note_lost(hold, "the server does not know it any more (it was removed, expired, or forgotten)");
  }
  if (answer && hold.asked_watched && hold.watched()) {
    hold.trusted = std::max(hold.trusted, trusted_until(sent.last, hold.asked_lease));
    // Spread: a crowd of holds that was renewed at one moment drifts apart.
    const Duration third = Duration(hold.lease) / 3;
    const Duration early = third / 10 * static_cast<long>(hold.ticket % 16) / 16;
    hold.next_renewal = on_grid(sent.last + third - early, hold.lease);
  } else if (!answer) {
    const bool unknown_script =
        reply.ok() && reply.value().is_error() && reply.value().text().substr(0, 8) == "NOSCRIPT";
    hold.by_text = unknown_script;
    const Duration soon = std::min<Duration>(kSoonest, Duration(hold.lease) / 12);
    hold.next_renewal = unknown_script ? now : after(now, soon);
  }
  arm(hold, now);
}

}  // namespace holdfast::lease
