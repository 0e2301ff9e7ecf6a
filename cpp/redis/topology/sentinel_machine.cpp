#include "redis/topology/sentinel_machine.h"

#include <algorithm>
#include <utility>

namespace holdfast::topology {

namespace {

constexpr Millis kGrace{100};
// More sentinels are ignored: a server that lists more is not a sentinel.
constexpr std::size_t kMostSentinels = 32;

}  // namespace

SentinelMachine::SentinelMachine(std::string service, std::vector<net::Address> listed,
                                 std::optional<net::Address> known)
    : service_(std::move(service)), primary_(std::move(known)) {
  for (net::Address& address : listed) {
    if (find(address) == nullptr) sentinels_.push_back({std::move(address), true});
  }
}

SentinelMachine::Actions SentinelMachine::start() {
  Actions actions;
  for (const Sentinel& sentinel : sentinels_) actions.watch.push_back(sentinel.address);
  actions.move = primary_ ? Result<net::Address>(*primary_) : failure();
  return actions;
}

SentinelMachine::Actions SentinelMachine::said(const net::Address& address, Opinion opinion,
                                               TimePoint now) {
  Actions actions;
  Sentinel* const sentinel = find(address);
  if (sentinel == nullptr) return actions;
  sentinel->voice = Voice::kSaid;
  sentinel->opinion = std::move(opinion);
  if (first_said_ == kNever) first_said_ = now;
  const std::vector<net::Address> others = sentinel->opinion.others;
  for (const net::Address& other : others) {
    if (find(other) != nullptr || sentinels_.size() >= kMostSentinels) continue;
    sentinels_.push_back({other, false});
    actions.watch.push_back(other);
  }
  prune(actions);
  judge(now, actions);
  return actions;
}

SentinelMachine::Actions SentinelMachine::failed(const net::Address& address, Status why,
                                                 TimePoint now) {
  Actions actions;
  Sentinel* const sentinel = find(address);
  if (sentinel == nullptr) return actions;
  sentinel->voice = Voice::kFailed;
  sentinel->failure = std::move(why);
  prune(actions);
  judge(now, actions);
  return actions;
}

SentinelMachine::Actions SentinelMachine::doubt() {
  Actions actions;
  const bool querying = doubt_ && any(Voice::kAwaited);
  if (!primary_ || querying) return actions;
  doubt_ = true;
  first_said_ = kNever;
  for (Sentinel& sentinel : sentinels_) {
    if (sentinel.voice == Voice::kSaid) sentinel.voice = Voice::kAwaited;
  }
  actions.query = true;
  return actions;
}

SentinelMachine::Actions SentinelMachine::tick(TimePoint now) {
  Actions actions;
  judge(now, actions);
  return actions;
}

TimePoint SentinelMachine::until() const {
  const bool settled = primary_ && !doubt_;
  if (settled || first_said_ == kNever || !any(Voice::kAwaited)) return kNever;
  return after(first_said_, kGrace);
}

std::string SentinelMachine::text() const {
  return "service '" + service_ + "'" + (primary_ ? " (" + primary_->text() + ")" : "");
}

SentinelMachine::Sentinel* SentinelMachine::find(const net::Address& address) {
  const auto found = std::find_if(sentinels_.begin(), sentinels_.end(),
                                  [&address](const Sentinel& s) { return s.address == address; });
  return found == sentinels_.end() ? nullptr : &*found;
}

void SentinelMachine::prune(Actions& actions) {
  if (!any(Voice::kSaid)) return;  // any of them may be the next to answer
  std::vector<Sentinel> kept;
  for (const Sentinel& sentinel : sentinels_) {
    const bool stays =
        sentinel.listed || sentinel.voice != Voice::kFailed || named(sentinel.address);
    if (stays) kept.push_back(sentinel);
    if (!stays) actions.leave.push_back(sentinel.address);
  }
  sentinels_ = std::move(kept);
}

bool SentinelMachine::named(const net::Address& address) const {
  return std::any_of(sentinels_.begin(), sentinels_.end(), [&address](const Sentinel& sentinel) {
    const std::vector<net::Address>& others = sentinel.opinion.others;
    return sentinel.voice == Voice::kSaid &&
           std::any_of(others.begin(), others.end(),
                       [&address](const net::Address& other) { return address == other; });
  });
}

void SentinelMachine::judge(TimePoint now, Actions& actions) {
  const bool settled = primary_ && !doubt_;
  const bool over = first_said_ != kNever && now >= after(first_said_, kGrace);
  if (!settled && !over && any(Voice::kAwaited)) return;
  const Opinion* const believed = best();
  if (believed == nullptr) {
    if (!primary_) actions.move = failure();
    return;
  }
  if (settled && believed->epoch <= epoch_) return;
  const bool moved = !primary_ || !(*primary_ == *believed->primary);
  primary_ = believed->primary;
  epoch_ = believed->epoch;
  doubt_ = false;
  if (moved) actions.move = *primary_;
}

const Opinion* SentinelMachine::best() const {
  const Opinion* best = nullptr;
  for (const Sentinel& sentinel : sentinels_) {
    const Opinion& opinion = sentinel.opinion;
    if (sentinel.voice != Voice::kSaid || !opinion.primary) continue;
    const bool better = best == nullptr || opinion.epoch > best->epoch ||
                        (opinion.epoch == best->epoch && votes(opinion) > votes(*best));
    if (better) best = &opinion;
  }
  return best;
}

int SentinelMachine::votes(const Opinion& opinion) const {
  int votes = 0;
  for (const Sentinel& sentinel : sentinels_) {
    const Opinion& other = sentinel.opinion;
    const bool for_it = sentinel.voice == Voice::kSaid && other.epoch == opinion.epoch &&
                        other.primary && *other.primary == *opinion.primary;
    votes += for_it ? 2 : 0;
  }
  // In a tie the known primary stays.
  return votes + (primary_ && *primary_ == *opinion.primary ? 1 : 0);
}

bool SentinelMachine::any(Voice voice) const {
  return std::any_of(sentinels_.begin(), sentinels_.end(),
                     [voice](const Sentinel& sentinel) { return sentinel.voice == voice; });
}

// Why no primary is known: a sentinel's reply matters more than another's silence.
Status SentinelMachine::failure() const {
  std::string names;
  std::string reasons;
  const Sentinel* refusing = nullptr;
  bool all_absent = !sentinels_.empty();
  for (const Sentinel& sentinel : sentinels_) {
    all_absent = all_absent && sentinel.voice == Voice::kFailed &&
                 sentinel.failure.reach() == Reach::kRefused;
    names += (names.empty() ? "" : ", ") + sentinel.address.text();
    if (sentinel.voice != Voice::kFailed) continue;
    reasons += "; " + sentinel.failure.message();
    if (sentinel.failure.code() == Code::kServer) refusing = &sentinel;
  }
  const std::string service = "service '" + service_ + "': ";
  if (any(Voice::kSaid)) {
    return Status::server("ERR", service + "its sentinels (" + names +
                                     ") know no such service; use the primary's name in the "
                                     "URL, as SENTINEL MASTERS lists it");
  }
  if (refusing != nullptr) {
    return Status::server(refusing->failure.word(),
                          service + "sentinel " + refusing->failure.message() +
                              " (sentinels have separate users: sentinel_username, "
                              "sentinel_password)");
  }
  return Status::unreachable(service + "none of its sentinels (" + names +
                                 ") has answered; are they running and reachable there?" + reasons,
                             all_absent ? Reach::kRefused : Reach::kUnknown);
}

}  // namespace holdfast::topology
