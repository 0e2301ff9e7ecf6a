#include "engine/quorum.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/shown.h"
#include "sync/quorum/quorum_acquire.h"
#include "sync/quorum/red_lock.h"

namespace holdfast::engine {

namespace {

using sync::Answers;
using sync::FanOutCall;
using sync::Outcome;

// For calls without a lease.
constexpr Millis kUsualLease{30000};

class Member final : public sync::QuorumMember {
 public:
  Member(std::shared_ptr<const Lock> lock, const Lock::AcquireArguments& arguments,
         TimePoint deadline)
      : lock_(std::move(lock)),
        context_(lock_->client().started()),
        arguments_(arguments),
        deadline_(deadline) {}

  sync::ExchangePtr acquire(How how) const override {
    Lock::AcquireArguments arguments = arguments_;
    arguments.blocking = how == How::kWait;
    arguments.again = how == How::kAgain;
    arguments.block = arguments_.block && !arguments.again;
    arguments.member = true;
    const TimePoint now = lock_->client().context()->clock.now();
    arguments.timeout = deadline_ == kNever ? kNever - TimePoint{} : deadline_ - now;
    return lock_->acquire(arguments);
  }

  lease::Attempt attempt() const override {
    return {context_->keeper->attempts(), lock_->name(), arguments_.owner,
            lease::Attempt::Kind::kAround};
  }

  Status under_way(bool by_thread) const override {
    return sync::under_way_status(lock_->name(), by_thread);
  }

  std::optional<Duration> remaining() const override { return lock_->known(arguments_.owner).left; }

 private:
  const std::shared_ptr<const Lock> lock_;
  const std::shared_ptr<const sync::Context> context_;
  const Lock::AcquireArguments arguments_;
  const TimePoint deadline_;
};

// The largest number that at least `needed` numbers reach.
template <typename T>
T common(std::vector<T> numbers, std::size_t needed) {
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  return numbers[needed - 1];
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

Quorum::Quorum(Members members, Rule rule_for, std::string name)
    : members_(std::move(members)),
      rule_for_(rule_for),
      name_(std::move(name)),
      texts_(std::make_shared<std::vector<std::string>>(texts_of(members_))) {}

sync::ExchangePtr Quorum::acquire(const AcquireArguments& arguments) const {
  auto context = members_.front()->client().started();
  const TimePoint now = context->clock.now();
  const sync::CallersTime time(arguments.blocking, arguments.timeout, now);
  sync::QuorumMachine::Options options;
  options.rule = rule(arguments.lease.time);
  options.blocking = arguments.blocking;
  options.pipelined = options.rule.spare() == 0 && pipelined(arguments.owner);
  options.deadline = time.deadline();
  options.lease = arguments.lease;
  options.unreachable_budget = context->command_timeout;
  options.seed = static_cast<std::uint32_t>(now.time_since_epoch().count() +
                                            static_cast<std::int64_t>(arguments.owner));
  const std::vector<int> counts = this->counts(arguments.owner);
  const int held = common(counts, options.rule.needed);
  // If a minority may be missing, the next round tries a server again that refuses to work or
  // refuses connections.
  const bool in_rounds = options.rule.spare() > 0;
  AcquireArguments part = arguments;
  part.part = true;
  part.refusal_budget = in_rounds ? sync::RefusalBudget::kNone : sync::RefusalBudget::kCallers;
  options.latest = time.latest();
  options.connect_deadline = time.connect_deadline();
  part.latest = time.latest();
  part.connect_deadline = in_rounds ? now : options.connect_deadline;
  sync::QuorumAcquire::Members members;
  members.reserve(members_.size());
  options.votes.reserve(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    options.votes.push_back(counts[i] >= held);
    members.push_back(std::make_unique<Member>(members_[i], part, options.deadline));
  }
  const auto made = std::make_shared<sync::QuorumAcquire>(context, name_, std::move(members),
                                                          std::move(options), time);
  made->set_about({kind(), arguments.owner}, parts());
  return made;
}

sync::ExchangePtr Quorum::release(OwnerNumber owner, bool all) const {
  // Before any member is released.
  const Status refused = may_use(owner);
  if (!refused.ok()) return ended({sync::Verdict::kFailed, refused});
  return release_members(owner, all,
                         [owner, all](const Lock& lock) { return lock.release(owner, all); });
}

sync::ExchangePtr Quorum::end_block(OwnerNumber owner, bool /*deferred*/) const {
  const Status refused = may_use(owner);
  if (!refused.ok()) return ended({sync::Verdict::kFailed, refused});
  return release_members(owner, false,
                         [owner](const Lock& lock) { return lock.end_block(owner, false); });
}

sync::ExchangePtr Quorum::ended(const sync::Outcome& outcome) const {
  return gather({rule(), {}, {}, [outcome](const Answers&) { return outcome; }});
}

// Leaves the holds of other lock objects on a member alone: if this lock is held, those beyond the
// members' common count; if it is not, all of them, unless this lock was held and has been lost.
sync::ExchangePtr Quorum::release_members(OwnerNumber owner, bool all, const Call& call) const {
  const std::vector<int> held = counts(owner);
  const int count = common(held, rule().needed);
  std::vector<Step> first;
  first.reserve(members_.size());
  std::vector<Step> second;
  // The first member last: waiters wait for it, and then find the others free.
  for (std::size_t i = held.size(); i-- > 0;) {
    if (held[i] == 0 || (count > 0 && held[i] >= count)) {
      first.push_back(step(i, call));
    } else if (count == 0) {
      second.push_back(step(i, call));
    }
  }
  const auto next = [second](const Answers& answers) {
    const bool held_once = std::any_of(answers.begin(), answers.end(), [](const auto& each) {
      return each && each->verdict != sync::Verdict::kBusy;
    });
    return held_once ? second : std::vector<Step>{};
  };
  const auto combine = [self = shared_from_this(), owner](const Answers& answers) {
    Outcome outcome = common_release(self->rule(), answers);
    if (outcome.verdict == sync::Verdict::kGranted) self->forget_losses(owner);
    return outcome;
  };
  const auto made =
      gather({rule(), std::move(first), next, combine, sync::Exchange::Role::kRelease});
  made->set_about({kind(), owner, all || count <= 1}, parts());
  return made;
}

sync::ExchangePtr Quorum::extend(OwnerNumber owner, Millis lease) const {
  if (known_count(owner) == 0) return ended({sync::Verdict::kGranted, {}, 0});
  const sync::QuorumRule needs = rule(lease);
  const Call call = [owner, lease](const Lock& lock) { return lock.extend(owner, lease); };
  const std::vector<int> held = counts(owner);
  std::vector<Step> steps;
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i] > 0) steps.push_back(step(i, call));
  }
  return gather({needs, std::move(steps), {}, [needs](const Answers& answers) {
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

sync::QuorumRule Quorum::rule() const { return rule(kUsualLease); }

std::shared_ptr<FanOutCall> Quorum::gather(FanOutCall::Plan plan) const {
  for (const auto& lock : members_) (void)lock->client().started();
  return std::make_shared<FanOutCall>(members_.front()->client().context(), name_, std::move(plan));
}

sync::ExchangePtr Quorum::call_all(const Call& call, FanOutCall::Combine combine) const {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < members_.size(); ++i) steps.push_back(step(i, call));
  return gather({rule(), std::move(steps), {}, std::move(combine)});
}

Quorum::Step Quorum::step(std::size_t member, const Call& call) const {
  return {member, [lock = members_[member], call] { return call(*lock); }};
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

void Quorum::forget_losses(OwnerNumber owner) const {
  for (const auto& lock : members_) lock->forget_loss(owner);
}

}  // namespace holdfast::engine
