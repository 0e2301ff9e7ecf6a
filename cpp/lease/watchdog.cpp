// The watchdog's part of the keeper of leases: renewals, checks, and what their answers mean.

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "lease/hold_record.h"
#include "lease/lease_keeper.h"

namespace holdfast::lease {

namespace {

constexpr Millis kSoonest{250};  // at the latest, after a failed renewal
// Renewals fall on a grid of this width (of a short lease, a hundredth of it).
constexpr Millis kGrid{10};
constexpr std::uint64_t kSpread = 16;
// How long the timer goes on without a hold before it is put away: locks that are taken again and
// again must not wake the watchdog's thread each time.
constexpr Millis kIdle{1000};

bool unknown_script(const Result<resp::Reply>& reply) {
  return reply.ok() && reply.value().is_error() && reply.value().text().substr(0, 8) == "NOSCRIPT";
}

// Until the next attempt, after one that failed.
Duration rest_of(Millis lease) { return std::min<Duration>(kSoonest, Duration(lease) / 12); }

}  // namespace

TimePoint renewal_after(TimePoint sent, Millis lease, std::uint64_t ticket) {
  const Duration third = Duration(lease) / 3;
  const Duration early = third / 10 * static_cast<long>(ticket % kSpread) / kSpread;
  const Duration width = std::min<Duration>(kGrid, Duration(lease) / 100);
  const Duration at = (sent + third - early).time_since_epoch();
  return TimePoint(at - at % width + width);
}

net::Interest LeaseKeeper::step(TimePoint now) {
  std::vector<HoldPtr> questions;
  net::Interest next;
  {
    const MutexLock guard(mutex_);
    while (Timer* timer = wheel_.pop_due(now)) {
      due(*static_cast<Hold::DueTimer*>(timer)->hold, now, questions);
    }
    if (std::exchange(verify_, false)) {
      for (const auto& [key, hold] : holds_) ask(*hold, now, questions);
    }
    const bool empty = wheel_.size() == 0;
    next.done = closed_ || (empty && idle_);
    next.until = empty ? after(now, kIdle) : wheel_.next();
    armed_ = next.done ? kNever : next.until;
    idle_ = empty;
  }
  submit(questions);
  return next;
}

void LeaseKeeper::due(Hold& hold, TimePoint now, std::vector<HoldPtr>& questions) {
  if (now >= hold.trusted()) {
    note_lost(hold, hold.renewed() ? "no renewal reached the server before its lease ran out"
                                   : "its lease ran out");
  } else if (hold.renewed() && hold.next_renewal <= now) {
    ask(hold, now, questions);
  } else {
    arm(hold, now);
  }
}

void LeaseKeeper::ask(Hold& hold, TimePoint now, std::vector<HoldPtr>& questions) {
  if (!hold.held()) return;
  // For a hold without renewal that may have two fields, a check is not conclusive.
  const bool quiet = hold.detaching || (hold.move && !hold.renewed());
  if (quiet) return arm(hold, now);
  if (paused_) {
    hold.next_renewal = after(now, rest_of(hold.lease));
  } else if (!std::exchange(hold.in_flight, true)) {
    hold.asked_extensions = hold.extensions;
    // An outer hold with a longer lease must not be cut short.
    hold.ask_for(std::max(hold.lease, lease_until(now, hold.set_until)), client_id_);
    hold.asked_until = hold.set_until;
    hold.deadline = hold.trusted();
    questions.push_back(hold.shared_from_this());
  }
  arm(hold, now);
}

void LeaseKeeper::submit(const std::vector<HoldPtr>& questions) {
  std::shared_ptr<topology::Topology> topology;
  {
    const MutexLock guard(mutex_);
    topology = topology_.lock();
  }
  if (!topology) return;
  for (const HoldPtr& hold : questions) {
    const auto connection = topology->route(hold->key(), topology::Traffic::kRenewals);
    const Status closed = connection->submit(hold);
    if (!closed.ok()) return;
  }
}

void LeaseKeeper::answered(Hold& hold, const Result<resp::Reply>& reply, const client::Sent& sent) {
  const MutexLock guard(mutex_);
  hold.in_flight = false;
  hold.by_text = unknown_script(reply);
  if (hold.ticket == 0 || !hold.held()) return;
  const TimePoint now = clock_.now();
  count_renewal(hold, reply);
  if (!reply.ok() || !reply.value().is_integer()) {
    hold.next_renewal = hold.by_text ? now : after(now, rest_of(hold.lease));
  } else if (reply.value().integer() == 0) {
    // Asked before a move began, it says no more than that the hold may have been moved.
    if (hold.asked_before_move()) {
      hold.next_renewal = now;
      return arm(hold, now);
    }
    return note_lost(
        hold, "the server no longer has it (it expired, was removed, or the server lost its data)");
  } else if (hold.asked_renewed && hold.renewed()) {
    hold.renewed_at(sent.last, reply.value().integer(), now);
  }
  arm(hold, now);
}

void LeaseKeeper::count_renewal(const Hold& hold, const Result<resp::Reply>& reply) {
  if (!hold.asked_renewed || hold.by_text) return;
  const bool renewed = reply.ok() && reply.value().is_integer() && reply.value().integer() != 0;
  count(hold, renewed ? Stats::Counter::kRenewals : Stats::Counter::kRenewalFailures);
}

void LeaseKeeper::verify() {
  const MutexLock guard(mutex_);
  if (holds_.empty() || closed_) return;
  verify_ = true;
  loop_.drive(shared_from_this());
}

}  // namespace holdfast::lease
