#include "locks/lease/hold_events.h"

#include <cstddef>
#include <utility>

#include "locks/lease/hold.h"

namespace holdfast::lease {

namespace {
constexpr std::size_t kMostEnded = 100;

Event event_about(const Subject& subject, Event::Kind kind, const std::string& reason) {
  Event event{kind, subject.name.text(), static_cast<std::uint64_t>(subject.owner), {}, reason};
  event.kind_word = subject.kind;
  return event;
}

}  // namespace

void Notices::overlong(const Subject& subject, Millis remaining) {
  if (!overlong_.admits(subject.name.text(), clock_.now())) return;
  const std::string seconds = std::to_string(remaining.count() / 1000);
  sink_->post(
      event_about(subject, Event::Kind::kOverlong,
                  "is held for another " + seconds +
                      " s: its owner set a lease of that length, or the server's clock was set "
                      "back; `holdfast show` says whose it is, and force_release() frees it"));
}

void Notices::foreign(const Subject& subject) {
  if (!foreign_.admits(subject.name.text(), clock_.now())) return;
  sink_->post(event_about(subject, Event::Kind::kForeign, {}));
}

void Notices::permits(const LockName& name, std::int64_t there, std::int64_t wanted) {
  const std::string other = std::to_string(wanted);
  if (!permits_.admits(name.text() + ' ' + other, clock_.now())) return;
  sink_->post({Event::Kind::kPermits,
               name.text(),
               0,
               {},
               "has " + std::to_string(there) + " permits on the server, not " + other +
                   ": that number stands; set_permits() or add_permits() changes it"});
}

void Notices::unlabelled(const std::string& reason) {
  if (!unlabelled_.admits({}, clock_.now())) return;
  sink_->post({Event::Kind::kUnlabelled, {}, 0, {}, reason});
}

void HoldEvents::post(const Hold& hold, Event::Kind kind) const {
  Event event = event_about({hold.name, hold.owner, hold.renewal->word()}, kind, hold.reason());
  if (hold.extras != nullptr) event.listeners = hold.extras->listeners;
  if (hold.token != 0) event.token = hold.token;
  event.cause = cause_of(event.reason);
  sink_->post(std::move(event));
}

void HoldEvents::post_unreleased(const Subject& subject, const std::string& reason) const {
  sink_->post(event_about(subject, Event::Kind::kUnreleased, reason));
}

void HoldEvents::post_closed() const { sink_->post({Event::Kind::kClosed, {}, 0, {}, {}}); }

void HoldEvents::abandoned(const Hold& hold, const std::string& what) {
  post(hold, Event::Kind::kAbandoned);
  if (ended_.size() == kMostEnded) ended_.pop_front();
  ended_.push_back({hold.name, {hold.owner, what}, hold.set_until});
}

void HoldEvents::count(const Hold& hold, Stats::Counter counter, std::int64_t amount) const {
  if (hold.counted) stats_->add(counter, amount);
}

void HoldEvents::count_renewal(const Hold& hold, std::optional<std::int64_t> found) const {
  if (!hold.sent_renewal) return;
  const bool renewed = found.value_or(0) != 0;
  count(hold, renewed ? Stats::Counter::kRenewals : Stats::Counter::kRenewalFailures);
}

void HoldEvents::count_end(const Hold& hold, TimePoint now) const {
  if (hold.held() && hold.counted) stats_->held_for(now - hold.since);
}

void HoldEvents::append_ended(std::vector<Holder>& holders, const LockName& name,
                              TimePoint now) const {
  for (const Ended& ended : ended_) {
    if (ended.name == name && now < ended.until) holders.push_back(ended.holder);
  }
}

}  // namespace holdfast::lease
