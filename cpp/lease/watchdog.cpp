#include "lease/watchdog.h"

#include <algorithm>
#include <utility>

namespace holdfast::lease {

namespace {

constexpr Millis kRetryAfter{250};  // a failed renewal; sooner for short leases
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
Duration retry_after(Millis lease) { return std::min<Duration>(kRetryAfter, Duration(lease) / 12); }

}  // namespace

TimePoint renewal_after(TimePoint sent, Millis lease, std::uint64_t serial) {
  const Duration third = Duration(lease) / 3;
  const Duration early = third / 10 * static_cast<long>(serial % kSpread) / kSpread;
  const Duration width = std::min<Duration>(kGrid, Duration(lease) / 100);
  const Duration at = (sent + third - early).time_since_epoch();
  return TimePoint(at - at % width + width);
}

void Watchdog::set_topology(std::weak_ptr<topology::Topology> topology) {
  const MutexLock guard(book_->mutex);
  topology_ = std::move(topology);
}

net::Interest Watchdog::step(TimePoint now) {
  Renewals renewals;
  net::Interest next;
  {
    const MutexLock guard(book_->mutex);
    while (Timer* timer = book_->wheel.pop_due(now)) {
      due(*static_cast<Hold::DueTimer*>(timer)->hold, now, renewals);
    }
    if (std::exchange(verify_, false)) {
      for (const auto& [key, hold] : book_->holds.all()) renew(*hold, now, renewals);
    }
    const bool empty = book_->wheel.size() == 0;
    next.done = book_->closed || (empty && idle_);
    next.until = empty ? after(now, kIdle) : book_->wheel.next();
    book_->next_step = next.done ? kNever : next.until;
    idle_ = empty;
  }
  submit(renewals);
  return next;
}

void Watchdog::due(Hold& hold, TimePoint now, Renewals& renewals) {
  if (now >= hold.trusted()) {
    book_->lose(
        hold, hold.renewed() ? "no renewal reached the server before its lease ran out" : kRanOut);
  } else if (hold.renewed() && hold.next_renewal <= now) {
    renew(hold, now, renewals);
  } else {
    book_->arm(hold, now);
  }
}

void Watchdog::renew(Hold& hold, TimePoint now, Renewals& renewals) {
  if (!hold.held()) return;
  // For a hold without renewal that may have two fields, a check is not conclusive.
  const bool quiet = hold.detaching || (hold.move && !hold.renewed());
  if (quiet) return book_->arm(hold, now);
  if (paused_) {
    hold.next_renewal = after(now, retry_after(hold.lease));
  } else if (!std::exchange(hold.in_flight, true)) {
    hold.sent_extensions = hold.extensions;
    // An outer hold with a longer lease must not be cut short.
    hold.prepare(std::max(hold.lease, lease_until(now, hold.set_until)), book_->client_id);
    hold.set_until_when_sent = hold.set_until;
    hold.deadline = hold.trusted();
    renewals.push_back(hold.shared_from_this());
  }
  book_->arm(hold, now);
}

void Watchdog::submit(const Renewals& renewals) {
  std::shared_ptr<topology::Topology> topology;
  {
    const MutexLock guard(book_->mutex);
    topology = topology_.lock();
  }
  if (!topology) return;
  for (const std::shared_ptr<Hold>& hold : renewals) {
    const auto connection = topology->route(hold->key(), topology::Traffic::kRenewals);
    const Status closed = connection->submit(hold);
    if (!closed.ok()) return;
  }
}

void Watchdog::answered(Hold& hold, const Result<resp::Reply>& reply, const client::Sent& sent) {
  const MutexLock guard(book_->mutex);
  hold.in_flight = false;
  hold.by_text = unknown_script(reply);
  if (hold.serial == 0 || !hold.held()) return;
  const TimePoint now = book_->clock.now();
  book_->events.count_renewal(hold, reply);
  if (!reply.ok() || !reply.value().is_integer()) {
    hold.next_renewal = hold.by_text ? now : after(now, retry_after(hold.lease));
  } else if (reply.value().integer() == 0) {
    // Sent before a move began, it says no more than that the hold may have been moved.
    if (hold.sent_before_move()) {
      hold.next_renewal = now;
      return book_->arm(hold, now);
    }
    return book_->lose(
        hold, "the server no longer has it (it expired, was removed, or the server lost its data)");
  } else if (hold.sent_renewal && hold.renewed()) {
    hold.record_renewal(sent.last, reply.value().integer(), now);
    hold.trace(Hold::Step::kRenewed);
  }
  book_->arm(hold, now);
}

void Watchdog::verify() {
  const MutexLock guard(book_->mutex);
  if (book_->holds.empty() || book_->closed) return;
  verify_ = true;
  book_->drive();
}

}  // namespace holdfast::lease
