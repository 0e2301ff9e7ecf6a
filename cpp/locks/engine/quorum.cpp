#include "locks/engine/quorum.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "locks/sync/quorum/quorum_acquire.h"
#include "redis/base/status.h"

namespace holdfast::engine {

namespace {

using How = lease::Ending::How;
using sync::Answers;
using sync::FanOutCall;
using sync::Outcome;

constexpr std::uint64_t kIdBits = 0x7fffffff;

// The largest number that at least `needed` numbers reach.
template <typename T>
T common(std::vector<T> numbers, std::size_t needed) {
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  return numbers[needed - 1];
}

// These members are called next, if any of the first was held. One that was not has answered: its
// release asks no server.
FanOutCall::Next if_held_once(FanOutCall::Places first, FanOutCall::Places members) {
  if (members.empty()) return {};
  return [first = std::move(first), members = std::move(members)](const Answers& answers) {
    const bool held_once = std::any_of(first.begin(), first.end(), [&answers](std::size_t each) {
      return !answers[each] || answers[each]->verdict != sync::Verdict::kBusy;
    });
    return held_once ? members : FanOutCall::Places{};
  };
}

std::vector<std::string> texts_of(const Quorum::Members& members) {
  std::vector<std::string> texts;
  for (const auto& lock : members) {
    const net::Endpoint& server = lock->client().options().endpoint;
    texts.push_back(quoted(lock->name().bytes()) + " on " + server.text());
  }
  return texts;
}

}  // namespace

// The members in an acquisition with these arguments.
class Quorum::Acquired final : public sync::QuorumMembers {
 public:
  Acquired(std::shared_ptr<const Quorum> quorum, const AcquireArguments& arguments,
           TimePoint deadline)
      : quorum_(std::move(quorum)), arguments_(arguments), deadline_(deadline) {}

  sync::ExchangePtr acquire(std::size_t member, How how) const override {
    AcquireArguments arguments = arguments_;
    arguments.blocking = how == How::kWait;
    arguments.again = how == How::kAgain;
    arguments.block = arguments_.block && !arguments.again;
    if (deadline_ != kNever) {
      arguments.timeout = deadline_ - lock(member).client().context()->clock.now();
    }
    return lock(member).acquire(arguments);
  }

  lease::Attempt attempt(std::size_t member, lease::Attempt::Kind kind) const override {
    const auto context = lock(member).client().started();
    return {*context->keeper, lock(member).name(), arguments_.owner, kind};
  }

  Status under_way(std::size_t member, bool by_thread) const override {
    return sync::under_way_status(lock(member).name(), by_thread);
  }

  std::optional<Duration> remaining(std::size_t member) const override {
    return lock(member).known(arguments_.owner).left;
  }

  void end_lost() const override {
    for (const auto& each : quorum_->members_) each->forget_loss_in_acquire(arguments_.owner);
    quorum_->release_rest(arguments_.owner);
  }

 private:
  const Lock& lock(std::size_t member) const { return *quorum_->members_[member]; }

  const std::shared_ptr<const Quorum> quorum_;
  const AcquireArguments arguments_;
  const TimePoint deadline_;
};

Quorum::Quorum(Members members, Rule rule_for, std::string name, Purpose purpose)
    : members_(std::move(members)),
      rule_for_(rule_for),
      name_(std::move(name)),
      id_(static_cast<lease::WholeId>(name_.hash() & kIdBits) | 1U),
      purpose_(std::move(purpose)),
      texts_(std::make_shared<std::vector<std::string>>(texts_of(members_))) {}

sync::ExchangePtr Quorum::acquire(const AcquireArguments& arguments) const {
  auto context = members_.front()->client().started();
  const TimePoint now = context->clock.now();
  const sync::CallersTime time = arguments.callers_time.value_or(
      sync::CallersTime(arguments.blocking, arguments.timeout, now));
  sync::QuorumMachine::Options options;
  options.rule = rule(arguments.lease.time);
  options.blocking = time.waits();
  options.pipelined = options.rule.spare() == 0 && pipelined(arguments.owner);
  options.deadline = time.deadline();
  options.lease = arguments.lease;
  options.unreachable_budget = context->command_timeout;
  options.seed = static_cast<std::uint32_t>(now.time_since_epoch().count() +
                                            static_cast<std::int64_t>(arguments.owner));
  const std::vector<int> counts = this->counts(arguments.owner);
  const int held = common(counts, options.rule.needed);
  const bool rest = *std::max_element(counts.begin(), counts.end()) > held;
  if (rest && may_use(arguments.owner).ok()) release_rest(arguments.owner);
  // If a minority may be missing, the next round tries a server again that refuses to work or
  // refuses connections.
  const bool in_rounds = options.rule.spare() > 0;
  AcquireArguments part = arguments;
  part.whole = id_;
  if (!part.purpose) part.purpose = purpose_;
  part.timeout = kNever - TimePoint{};
  part.callers_time.reset();
  part.refusal_budget = in_rounds ? sync::RefusalBudget::kNone : sync::RefusalBudget::kCallers;
  options.latest = time.latest();
  options.connect_deadline = time.connect_deadline();
  part.latest = time.latest();
  part.connect_deadline = in_rounds ? now : options.connect_deadline;
  options.votes.reserve(members_.size());
  for (const int count : counts) options.votes.push_back(count >= held);
  auto members = std::make_unique<Acquired>(shared_from_this(), part, options.deadline);
  const auto made = std::make_shared<sync::QuorumAcquire>(context, name_, std::move(members),
                                                          std::move(options), time);
  made->set_about({kind(), arguments.owner}, shared_from_this());
  return made;
}

sync::ExchangePtr Quorum::release(OwnerNumber owner, ReleaseMode how) const {
  // Before any member is released.
  const Status refused = may_use(owner);
  if (!refused.ok()) return ended({sync::Verdict::kFailed, refused});
  const How which = how.all ? How::kAll : How::kInnermost;
  return release_members({owner, {which, id_}, false, how.block});
}

sync::ExchangePtr Quorum::ended(const sync::Outcome& outcome) const {
  return gather({rule(), {}, {}, {}, [outcome](const Answers&) { return outcome; }});
}

// Leaves the holds of other lock objects on a member alone: if this lock is held, those beyond the
// members' common count. If it is not, but was held and has been lost, that is the end of all its
// nested holds: what the members still have of them is released.
sync::ExchangePtr Quorum::release_members(const sync::HoldRelease::Order& order) const {
  const OwnerNumber owner = order.owner;
  const std::vector<int> held = counts(owner);
  const int count = common(held, rule().needed);
  Places first;
  first.reserve(held.size());
  Places second;
  // The first member last: waiters wait for it, and then find the others free.
  for (std::size_t i = held.size(); i-- > 0;) {
    if (held[i] == 0 || (count > 0 && held[i] >= count)) {
      first.push_back(i);
    } else if (count == 0) {
      second.push_back(i);
    }
  }
  const auto combine = [this, owner](const Answers& answers) {
    Outcome outcome = common_release(rule(), answers);
    if (outcome.verdict == sync::Verdict::kGranted) {
      for (const auto& lock : members_) lock->forget_loss(owner);
    }
    if (outcome.verdict == sync::Verdict::kGone) release_rest(owner);
    return outcome;
  };
  auto next = if_held_once(first, std::move(second));
  auto release = order;
  if (count == 0) release.ending.how = How::kWhole;
  const Call call = [release](const Lock& lock) { return lock.release(release); };
  const auto made = gather({rule(), std::move(first), of_member(call), std::move(next), combine,
                            sync::Exchange::Role::kRelease});
  const bool last = order.ending.how == How::kAll || count <= 1;
  made->set_about({kind(), owner, last}, shared_from_this());
  return made;
}

void Quorum::release_rest(OwnerNumber owner) const {
  if (known_count(owner) > 0) return;  // it was acquired meanwhile
  for (const auto& lock : members_) {
    if (lock->known_count(owner) == 0) continue;
    lock->release_unawaited({owner, {How::kWhole, id_}});
  }
}

sync::ExchangePtr Quorum::extend(OwnerNumber owner, Millis lease) const {
  if (known_count(owner) == 0) return ended({sync::Verdict::kGranted, {}, 0});
  const std::vector<int> held = counts(owner);
  Places members;
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i] > 0) members.push_back(i);
  }
  const sync::QuorumRule needs = rule(lease);
  const Call call = [owner, lease](const Lock& lock) { return lock.extend(owner, lease); };
  return gather({needs, std::move(members), of_member(call), {}, [needs](const Answers& answers) {
                   return common_yes(needs, needs.needed, answers);
                 }});
}

sync::ExchangePtr Quorum::force_release(OwnerNumber by) const {
  return call_all(
      [by](const Lock& lock) { return lock.force_release(by); },
      [needs = rule()](const Answers& answers) { return common_yes(needs, 1, answers); });
}

sync::ExchangePtr Quorum::locked() const {
  return call_all([](const Lock& lock) { return lock.locked(); },
                  [needs = rule()](const Answers& answers) {
                    return common_yes(needs, needs.spare() + 1, answers);
                  });
}

sync::ExchangePtr Quorum::hold_count(OwnerNumber owner) const {
  return call_all(
      [owner](const Lock& lock) { return lock.hold_count(owner); },
      [needs = rule()](const Answers& answers) { return common_number(needs, answers); });
}

sync::ExchangePtr Quorum::ttl() const {
  return call_all([](const Lock& lock) { return lock.ttl(); },
                  [needs = rule()](const Answers& answers) { return common_ttl(needs, answers); });
}

Status Quorum::may_use(OwnerNumber owner) const {
  for (const auto& lock : members_) {
    if (Status refused = lock->may_use(owner); !refused.ok()) return refused;
  }
  return {};
}

int Quorum::known_count(OwnerNumber owner) const { return common(counts(owner), rule().needed); }

lease::Known Quorum::known(OwnerNumber owner) const {
  const sync::QuorumRule rule = this->rule();
  lease::Known whole;
  std::vector<Duration> left;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    lease::Known member = members_[i]->known(owner);
    left.push_back(member.left.value_or(Duration(-1)));
    whole.lost = whole.lost || member.lost;
    if (member.loss && !whole.loss) whole.loss = rule.title(i) + ": " + *member.loss;
    if (member.levels.size() > whole.levels.size()) whole.levels = std::move(member.levels);
  }
  const Duration least = common(std::move(left), rule.needed);
  if (least >= Duration::zero()) whole.left = least;
  whole.lost = whole.lost && (rule.spare() == 0 || known_count(owner) == 0);
  if (!whole.lost) whole.loss.reset();
  return whole;
}

std::vector<lease::Holder> Quorum::known_owners() const {
  for (const auto& lock : members_) {
    std::vector<lease::Holder> holders = lock->known_owners();
    if (!holders.empty()) return holders;
  }
  return {};
}

bool Quorum::foreign() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const auto& member) { return member->foreign(); });
}

void Quorum::forget_listener(OwnerNumber owner, std::uint64_t listener) const {
  for (const auto& lock : members_) lock->forget_listener(owner, listener);
}

// Not behind waiters of a member: an attempt at the others would be in vain.
bool Quorum::pipelined(OwnerNumber owner) const {
  const auto first = members_.front()->connection();
  return members_.size() > 1 &&
         std::all_of(members_.begin(), members_.end(), [&](const auto& lock) {
           return lock->connection() == first && lock->idle(owner);
         });
}

std::string_view Quorum::kind() const {
  return rule_for_ == &sync::red_lock_rule ? "red_lock" : "multi_lock";
}

sync::QuorumRule Quorum::rule(Millis lease) const {
  sync::QuorumRule rule = rule_for_(members_.size(), lease);
  rule.texts = texts_;
  return rule;
}

std::shared_ptr<FanOutCall> Quorum::gather(FanOutCall::Plan plan) const {
  for (const auto& lock : members_) (void)lock->client().started();
  return std::make_shared<FanOutCall>(members_.front()->client().context(), name_, std::move(plan));
}

sync::ExchangePtr Quorum::call_all(Call call, FanOutCall::Combine combine) const {
  Places all(members_.size());
  std::iota(all.begin(), all.end(), 0U);
  return gather({rule(), std::move(all), of_member(std::move(call)), {}, std::move(combine)});
}

std::function<sync::ExchangePtr(std::size_t member)> Quorum::of_member(Call call) const {
  return [self = shared_from_this(), call = std::move(call)](std::size_t member) {
    return call(*self->members_[member]);
  };
}

std::vector<sync::Exchange::Part> Quorum::parts() const {
  const sync::QuorumRule titles = rule();
  std::vector<sync::Exchange::Part> parts;
  parts.reserve(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Lock& lock = *members_[i];
    parts.push_back({lock.client().id(), std::string(lock.name().bytes()), titles.title(i)});
  }
  return parts;
}

std::vector<int> Quorum::counts(OwnerNumber owner) const {
  std::vector<int> held;
  held.reserve(members_.size());
  for (const auto& lock : members_) held.push_back(lock->known_count(owner));
  return held;
}

}  // namespace holdfast::engine
