#include "locks/lease/hold.h"

#include <algorithm>
#include <iterator>

namespace holdfast::lease {

Event::Cause cause_of(const std::string& reason) {
  const bool gone =
      std::find(std::begin(kGoneReasons), std::end(kGoneReasons), reason) != std::end(kGoneReasons);
  if (gone) return Event::Cause::kGone;
  if (reason == kClientClosed) return Event::Cause::kClosed;
  const bool not_renewed = reason.rfind(kNotRenewed, 0) == 0;
  const bool over = not_renewed || reason == kRanOut || reason == kReleaseExpired;
  return over ? Event::Cause::kLeaseOver : Event::Cause::kOther;
}

void Levels::resize(int count) {
  marks_.resize(static_cast<std::size_t>(count), Mark{0});
  note_renewed();
}

int Levels::count_of_several(Ending ending) const {
  if (ending.how == Ending::How::kAll) return count();
  const auto is_of = [&ending](Mark each) { return whole_of(each) == ending.whole; };
  return static_cast<int>(std::count_if(marks_.begin(), marks_.end(), is_of));
}

void Levels::end(Ending ending) {
  const auto is_of = [&ending](Mark each) { return whole_of(each) == ending.whole; };
  if (ending.how == Ending::How::kAll) {
    marks_.clear();
  } else if (ending.how == Ending::How::kWhole) {
    marks_.erase(std::remove_if(marks_.begin(), marks_.end(), is_of), marks_.end());
  } else {
    const auto inner = std::find_if(marks_.rbegin(), marks_.rend(), is_of);
    marks_.erase(std::prev(inner == marks_.rend() ? marks_.end() : inner.base()));
  }
  note_renewed();
}

void Levels::all_leased() {
  for (Mark& each : marks_) each &= ~kRenewed;
  renewed_ = false;
}

void Levels::note_renewed() {
  renewed_ =
      std::any_of(marks_.begin(), marks_.end(), [](Mark each) { return (each & kRenewed) != 0; });
}

void add_reference(Hold& hold) { hold.references_.add(); }

void drop_reference(Hold& hold) {
  if (hold.references_.drop()) delete &hold;
}

void Hold::record_renewal(TimePoint sent, std::int64_t reply, TimePoint now) {
  // A lease that extend() has set since may have cut the renewed one on the server.
  if (sent_extensions != extensions) return;
  const std::optional<Millis> found = renewal->found(reply);
  if (found && after(now, *found) < set_until_when_sent) {
    ensure_extras().shortened.observe(*found, now, lease);
  }
  set_lease(sent, sent_lease, now);
}

void Hold::set_lease(TimePoint sent, Millis given, TimePoint now) {
  const TimePoint until = trusted_until(sent, given);
  set_until = std::max(set_until, until);
  if (!extras) return;
  extras->cut_until = std::max(extras->cut_until, until);
  const Millis part = extras->shortened.part_of(given, now);
  if (part < given) {
    extras->relied_until = trusted_until(sent, part);
  } else if (!extras->shortened.lasts(now)) {
    extras->relied_until = kNever;
  }
}

void Hold::add_level(const Grant& grant) {
  levels.set_count(grant.count - 1);
  levels.push(grant.lease.renewed, grant.whole);
  if (grant.block) ++blocks;
  forget(grant.listener);
  if (grant.listener != 0) ensure_extras().listeners.push_back(grant.listener);
  token = grant.token.value_or(token);
  if (grant.lease.renewed) {
    lease = grant.lease.time;
  } else {
    fixed_lease = grant.lease.time;
  }
  set_lease(grant.sent, grant.lease.time, grant.sent);
  if (grant.at_least > Millis(0)) {
    TimePoint& closed_until = ensure_extras().closed_until;
    closed_until = std::max(closed_until, after(since, grant.at_least));
  }
}

}  // namespace holdfast::lease
