#include "locks/lease/watchdog.h"

#include <algorithm>
#include <utility>

#include "redis/resp/reply.h"

namespace holdfast::lease {

namespace {

constexpr Millis kRetryAfter{250};  // a failed renewal; sooner for short leases
// How long the timer goes on without a hold before it is put away: locks that are taken again and
// again must not wake the watchdog's thread each time.
constexpr Millis kIdle{1000};
// Looks that changes cause: of each hold, as an owner of a shared lock changes what the others read
// with each acquire and release; and of all, as a server that tracks more keys than it may drops
// others with each.
constexpr LookBudget::Rate kItsLooks{Millis(250), 5};
constexpr LookBudget::Rate kAllLooks{std::chrono::microseconds(200), 5000};
// How long nothing is renewed in batches after one was refused for the slots of its keys.
constexpr Millis kAloneFor{60'000};

// A renewal without an answer after so long, or a third of its lease, counts as failed.
constexpr Millis kOverdue{1000};
constexpr const char* kOverwritten = "its key holds something else: WRONGTYPE";

bool is_error(const Result<resp::Reply>& reply) { return reply.ok() && reply.value().is_error(); }

// For good, as it does not grow out of what it is.
bool is_refusal(const Result<resp::Reply>& reply) {
  return resp::pace_of_release(reply.value().text()) == resp::Pace::kNever;
}

// Until the next attempt, after one that failed.
Duration retry_after(Millis lease) { return std::min<Duration>(kRetryAfter, Duration(lease) / 12); }

// By any connection of the client that works: where none can be made for renewals, as the server
// has too many clients, or another password by now, the one for calls may be there.
std::shared_ptr<client::Connection> way_of(topology::Topology& topology,
                                           const client::Request& request) {
  auto usual = topology.route(request.key(), topology::Traffic::kRenewals);
  if (!usual->down()) return usual;
  usual->reconnect(request.deadline);
  auto other = topology.route(request.key(), topology::Traffic::kCalls);
  return other->open() ? other : usual;
}

}  // namespace

void Watchdog::set_topology(std::weak_ptr<topology::Topology> topology, Millis command_timeout) {
  const MutexLock guard(keeper_.mutex);
  topology_ = std::move(topology);
  command_timeout_ = command_timeout;
}

void Watchdog::track() {
  const MutexLock guard(keeper_.mutex);
  keeper_.tracks = true;
}

net::Interest Watchdog::step(TimePoint now) {
  Renewals renewals;
  net::Interest next;
  NoteBook::Work notes;
  std::shared_ptr<void> reports;  // destroyed without the lock
  {
    const MutexLock guard(keeper_.mutex);
    while (Timer* timer = keeper_.wheel.pop_due(now)) {
      due(*static_cast<Hold*>(timer), now, renewals);
    }
    if (std::exchange(verify_, false) && !keeper_.closed) {
      for (const Holds::Entry* const entry : keeper_.holds.all()) {
        if (entry->hold) request(*entry->hold, entry->hold->renewed(), now, renewals);
      }
    }
    count_overdue(now);
    if (!keeper_.closing) notes = keeper_.note_book.work(now);
    next = next_step(now);
    if (next.done) reports.swap(keeper_.reports);
    if (reports) keeper_.events.post_closed();
  }
  next.until = std::min(next.until, submit(renewals));
  write_notes(std::move(notes));
  return next;
}

// Once for each renewal, whether it waits for a connection or for its reply.
void Watchdog::count_overdue(TimePoint now) {
  while (!submitted_.empty()) {
    const auto& [overdue, submitted] = *submitted_.begin();
    const auto batch = submitted.lock();
    if (batch && overdue > now) return;
    if (batch) batch->overdue = true;
    for (const HoldPtr& hold : batch ? batch->holds() : std::vector<HoldPtr>()) {
      const bool waits = hold->in_flight && hold->serial != 0 && hold->held();
      if (waits) keeper_.events.count_renewal(*hold, std::nullopt);
    }
    submitted_.erase(submitted_.begin());
  }
}

net::Interest Watchdog::next_step(TimePoint now) {
  const std::uint64_t grants = keeper_.holds.grants();
  if (std::exchange(grants_, grants) != grants) busy_until_ = after(now, kIdle);
  const bool busy = now < busy_until_;
  const bool empty = keeper_.wheel.size() == 0;
  net::Interest next;
  const bool notes = !keeper_.closing && keeper_.note_book.next() != kNever;
  next.done = empty && (keeper_.closed || !busy) && !notes;
  next.until = empty ? busy_until_ : keeper_.wheel.next();
  if (!submitted_.empty()) next.until = std::min(next.until, submitted_.begin()->first);
  // No grant is due for its first look before the next step, so none has to wake the thread; nor
  // for its note.
  if (busy && keeper_.tracks) next.until = std::min(next.until, after(now, kYoung));
  if (busy && keeper_.note_book.all) {
    next.until = std::min(next.until, after(now, NoteBook::kPeriod));
  }
  if (!keeper_.closing) next.until = std::min(next.until, keeper_.note_book.next());
  keeper_.next_step = next.done ? kNever : next.until;
  return next;
}

// One timer has all moments of a hold: its end comes first, as a hold that is over must not be
// believed for as long as a renewal takes; a renewal comes before a look, as it shows as much.
void Watchdog::due(Hold& hold, TimePoint now, Renewals& renewals) {
  if (NoteBook::due(hold) <= now) keeper_.note_book.add(hold);
  // It is never lost: the next renewal makes it again.
  if (hold.internal && now >= hold.trusted()) hold.set_until = after(now, hold.lease);
  if (now >= hold.trusted()) {
    keeper_.lose(hold, keeper_.ran_out(hold));
  } else if (keeper_.closed) {
    keeper_.arm(hold, now);
  } else if (hold.renewed() && hold.next_renewal <= now) {
    request(hold, true, now, renewals);
  } else if (hold.next_look <= now) {
    request(hold, false, now, renewals);
  } else {
    keeper_.arm(hold, now);
  }
}

void Watchdog::request(Hold& hold, bool renews, TimePoint now, Renewals& renewals) {
  if (!hold.held()) return;
  hold.next_look = kNever;  // a renewal is one, too
  if (hold.may_be_gone()) return keeper_.arm(hold, now);
  if (paused_) {
    hold.next_renewal = after(now, retry_after(hold.lease));
  } else if (!std::exchange(hold.in_flight, true)) {
    hold.sent_extensions = hold.extensions;
    // An outer hold with a longer lease must not be cut short.
    const Millis lease = std::max(hold.lease, lease_until(now, hold.set_until));
    hold.sent_renewal = renews;
    hold.sending.begin();
    if (renews) {
      hold.sent_lease = lease;
      plan_renewal(hold, now, now);
    }
    hold.set_until_when_sent = hold.set_until;
    if (renewals.empty()) renewals.reserve(RenewalBatch::kMostKeys);
    renewals.push_back({HoldPtr(&hold), hold.trusted()});
  }
  keeper_.arm(hold, now);
}

void Watchdog::plan_renewal(Hold& hold, TimePoint sent, TimePoint now) {
  const Millis lease = hold.part_of(hold.lease, now);
  hold.next_renewal = keeper_.grid.next(sent, lease, hold.group, keeper_.holds.size());
}

TimePoint Watchdog::submit(const Renewals& renewals) {
  TimePoint overdue = kNever;
  if (renewals.empty()) return overdue;
  std::shared_ptr<topology::Topology> topology;
  std::size_t most_keys = 0;
  {
    const MutexLock guard(keeper_.mutex);
    topology = topology_.lock();
    most_keys = keeper_.clock.now() < alone_until_ ? 1 : most_keys_;
  }
  if (!topology) return overdue;
  RenewalBatches batches(weak(), most_keys);
  std::vector<client::RequestPtr> requests;
  requests.reserve(renewals.size());
  for (const RenewalBatches::Due& each : renewals) {
    if (each.hold->sent_renewal) {
      batches.add(each, topology->slot(each.hold->name.bytes()));
    } else {
      requests.push_back(std::make_shared<HoldRequest>(weak(), each.hold, each.until));
    }
  }
  {
    const MutexLock guard(keeper_.mutex);
    const TimePoint now = keeper_.clock.now();
    for (auto& batch : batches.take()) {
      const TimePoint failed_at = after(now, std::min(kOverdue, batch->common.lease / 3));
      submitted_.emplace(failed_at, batch);
      overdue = std::min(overdue, failed_at);
      requests.push_back(std::move(batch));
    }
  }
  for (const client::RequestPtr& request : requests) {
    const auto way = request->with_calls
                         ? topology->route(request->key(), topology::Traffic::kCalls)
                         : way_of(*topology, *request);
    const Status closed = way->submit(request);
    if (!closed.ok()) request->complete(closed, {});
  }
  return overdue;
}

void Watchdog::answered(const RenewalBatch& batch, const Result<resp::Reply>& reply,
                        const client::Sent& sent) {
  if (batch.with_calls) return key_answered(*batch.holds().front(), reply, sent);
  const RenewalBatch::Found found = batch.found(reply);
  const bool refused = is_error(reply);
  const MutexLock guard(keeper_.mutex);
  note_failure(reply);
  const TimePoint now = keeper_.clock.now();
  if (refused && resp::error_word(reply.value().text()) == "CROSSSLOT") {
    alone_until_ = after(now, kAloneFor);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    Hold& hold = *batch.holds()[i];
    landed(hold, reply, sent);
    // A refusal may be another hold's. And a proxy may have sent the batch where its first key is.
    hold.alone = refused || (found.size() > 1 && found[i] == 0);
    if (hold.serial == 0 || !hold.held()) continue;
    if (batch.common.slot) hold.group = *batch.common.slot;
    if (hold.alone && found.size() > 1) {
      hold.next_renewal = now;
      keeper_.arm(hold, now);
    } else {
      conclude(hold, answer(found[i], reply, batch.overdue), sent, now);
    }
  }
  keeper_.late_renewals.forget(keeper_.clock.now());
}

// The answer about the client's key, the only hold of its kind. Where the server refuses the key,
// the client goes on without it, and tries again with its next renewal.
void Watchdog::key_answered(Hold& key, const Result<resp::Reply>& reply, const client::Sent& sent) {
  const MutexLock guard(keeper_.mutex);
  landed(key, reply, sent);
  if (key.serial == 0 || !key.held()) return;
  const TimePoint now = keeper_.clock.now();
  plan_renewal(key, now, now);
  if (!reply.ok()) {
    failed(key, now);
  } else if (!is_error(reply)) {
    key.record_renewal(sent.last, 1, now);
    keeper_.records.renew(key);
    // The reply 2: the key was gone, and with it its notes.
    const bool made = reply.value().is_integer() && reply.value().integer() == 2;
    if (made) keeper_.note_book.key_made(keeper_.holds.all());
  } else if (is_refusal(reply)) {
    post_refusal(reply);
  }
  keeper_.arm(key, now);
}

void Watchdog::post_refusal(const Result<resp::Reply>& reply) {
  keeper_.notices.unlabelled(std::string(resp::error_text(reply.value().text())));
}

void Watchdog::write_notes(NoteBook::Work work) {
  if (!work.writes() && work.removed.empty()) return;
  std::shared_ptr<topology::Topology> topology;
  HoldPtr key;
  NoteRequest::Writing writing;
  TimePoint until{};
  {
    const MutexLock guard(keeper_.mutex);
    topology = topology_.lock();
    key = keeper_.note_book.key;
    const TimePoint now = keeper_.clock.now();
    until = after(now, command_timeout_);
    writing.verb = NoteRequest::Verb::kWrite;
    writing.within = work.within;
    writing.lease = key->lease;
    for (const Note& note : work.written) {
      writing.lease = std::max(writing.lease, lease_until(now, note.hold->set_until));
    }
  }
  if (!topology) return;
  const auto send = [&](NoteRequest::Notes notes, NoteRequest::Writing how) {
    const auto way = topology->route(key->name.bytes(), topology::Traffic::kCalls);
    (void)way->submit(
        std::make_shared<NoteRequest>(weak(), key, std::move(notes), std::move(how), until));
  };
  if (!work.removed.empty()) send(std::move(work.removed), {});
  if (work.writes()) send(std::move(work.written), std::move(writing));
}

// Where the server refuses a note for good, the client goes on without it. A note that could not be
// removed would be taken for one of the owner's next hold.
void Watchdog::noted(const NoteRequest& request, const Result<resp::Reply>& reply) {
  using Verb = NoteRequest::Verb;
  const MutexLock guard(keeper_.mutex);
  const bool refused = is_error(reply) && is_refusal(reply);
  const bool done = refused || (reply.ok() && !is_error(reply));
  if (request.writing.verb == Verb::kRemove) {
    keeper_.note_book.answered(request.notes, done || keeper_.closed);
  }
  // What an acquire could not say, as its script may be unknown, the watchdog writes: its command
  // has the script's text, and so its refusal counts.
  const bool unsaid = request.writing.verb == Verb::kSay && is_error(reply);
  if (!unsaid) {
    if (refused) post_refusal(reply);
    if (done || keeper_.closed) return;
    keeper_.note_book.key_unwritten();
  }
  for (const Note& note : request.notes) {
    Hold* const hold = keeper_.holds.held(note.name, note.owner);
    if (unsaid) {
      keeper_.note_book.unsaid(note, hold);
    } else if (hold != nullptr) {
      keeper_.note_book.write_again(*hold);
    }
  }
  keeper_.step_by(keeper_.note_book.next());
}

void Watchdog::answered(Hold& hold, const Result<resp::Reply>& reply, const client::Sent& sent) {
  const MutexLock guard(keeper_.mutex);
  note_failure(reply);
  landed(hold, reply, sent);
  keeper_.late_renewals.forget(keeper_.clock.now());
  if (hold.serial == 0 || !hold.held()) return;
  std::optional<std::int64_t> found;
  if (reply.ok() && reply.value().is_integer()) found = reply.value().integer();
  conclude(hold, answer(found, reply, false), sent, keeper_.clock.now());
}

// Nothing that the client sees says when the server cannot get any more what was written to a
// connection that has failed: it counts as on its way for as long as the answer to a command is
// waited for.
void Watchdog::landed(Hold& hold, const Result<resp::Reply>& reply, const client::Sent& sent) {
  hold.in_flight = false;
  const bool answered = reply.ok() && !sent.repeated;
  if (answered || !hold.sent_renewal || !hold.sending.written()) return;
  hold.ensure_extras().renewal_comes_until = after(keeper_.clock.now(), command_timeout_);
}

// A loss names the failure of the last renewal as its reason.
void Watchdog::note_failure(const Result<resp::Reply>& reply) {
  keeper_.renewal_failure.clear();
  if (!reply.ok()) keeper_.renewal_failure = reply.status().message();
  if (is_error(reply)) keeper_.renewal_failure = resp::error_text(reply.value().text());
}

// `reply`: to a command about one hold, unless `found` says what it means for this one. `overdue`:
// it was counted as failed before.
Watchdog::RenewalAnswer Watchdog::answer(std::optional<std::int64_t> found,
                                         const Result<resp::Reply>& reply, bool overdue) {
  if (!found && is_error(reply) && resp::error_word(reply.value().text()) == "WRONGTYPE") {
    return {0, kOverwritten, overdue};
  }
  const bool closed = !reply.ok() && reply.status().code() == Code::kClosed;
  return {found, kGone, closed || (overdue && found.value_or(0) == 0)};
}

void Watchdog::conclude(Hold& hold, const RenewalAnswer& answer, const client::Sent& sent,
                        TimePoint now) {
  const std::optional<std::int64_t>& found = answer.found;
  if (!answer.counted) keeper_.events.count_renewal(hold, found);
  if (!found) {
    failed(hold, now);
  } else if (*found == 0 && !hold.may_be_gone()) {
    return keeper_.lose(hold, answer.loss);
  } else if (*found == 0) {
    hold.next_renewal = now;  // once it is known what has become of the step that may have ended it
  } else {
    note_tracking(hold, sent.tracked);
    if (!hold.sent_renewal) {
      look_found(hold, *found, sent, now);
    } else if (hold.renewed()) {
      hold.record_renewal(sent.last, *found, now);
      plan_renewal(hold, sent.last, now);
      keeper_.records.renew(hold);
      hold.trace(Hold::Step::kRenewed);
    }
  }
  keeper_.arm(hold, now);
}

void Watchdog::failed(Hold& hold, TimePoint now) {
  const Millis lease = hold.renewed() ? hold.lease : hold.fixed_lease;
  const TimePoint again = after(now, retry_after(lease));
  if (hold.sent_renewal) {
    hold.next_renewal = again;
  } else if (!hold.renewed()) {
    hold.next_look = again;
  } else {  // a check: the next renewal is one, too
    hold.next_renewal = std::min(hold.next_renewal, again);
  }
}

// A check has found it. `left`: ms of its lease; below 0: a lease without end. Of a hold that is
// renewed another program has cut the lease: its next renewal is due. One that is not renewed may
// be cut by further commands, too, as the readers of another program do: what is found last counts,
// and is looked at again before it ends.
void Watchdog::look_found(Hold& hold, std::int64_t left, const client::Sent& sent, TimePoint now) {
  // A lease that this client has set meanwhile may be older or newer than the one that was found.
  const bool same =
      hold.set_until == hold.set_until_when_sent && hold.sent_extensions == hold.extensions;
  if (!same) return look_again(hold, now);
  const TimePoint end = left < 0 ? kNever : after(now, Millis(left));
  if (!hold.renewed()) {
    const bool cut = end < hold.set_until;
    if (cut) {
      hold.ensure_extras().cut_until = trusted_until(sent.last, Millis(left));
    } else if (hold.extras != nullptr) {
      hold.extras->cut_until = kNever;
    }
    const Millis half = Millis(left) / 2;
    if (cut && half >= kYoung) hold.next_look = after(now, half);
    return;
  }
  if (end >= hold.trusted()) return;
  hold.set_until = std::min(hold.set_until, trusted_until(sent.last, Millis(left)));
  // Another program's owner may do so again: see ShortenedLease.
  if (hold.renewal->found(left))
    hold.ensure_extras().shortened.observe(Millis(left), now, hold.lease);
  hold.next_renewal = now;
}

void Watchdog::note_tracking(Hold& hold, client::Tracked tracked) {
  using client::Tracked;
  const bool declared = tracked == Tracked::kDeclaredKeys;
  most_keys_ = declared ? RenewalBatch::kMostDeclaredKeys : RenewalBatch::kMostKeys;
  keeper_.tracks = tracked != Tracked::kNothing;
  if (!keeper_.tracks) return keeper_.holds.tracked.remove(hold);
  if (hold.tracked) return;
  const std::string field = owner_field(keeper_.client_id, hold.owner);
  keeper_.holds.tracked.add(hold, hold.renewal->keys(hold.name, field));
}

void Watchdog::changed(const client::KeyChanges& changes) {
  Renewals looks;
  {
    const MutexLock guard(keeper_.mutex);
    const TimePoint now = keeper_.clock.now();
    for (Hold* hold : keeper_.holds.tracked.take(changes)) {
      // What is on its way is executed after the change: else its reply had come before the
      // message.
      if (hold->in_flight) continue;
      look_again(*hold, now);
      due(*hold, now, looks);
    }
  }
  const TimePoint overdue = submit(looks);
  const MutexLock guard(keeper_.mutex);
  keeper_.step_by(overdue);
}

// It may have changed, or was not tracked for a moment.
void Watchdog::look_again(Hold& hold, TimePoint now) {
  hold.next_look =
      std::max(looks_.take(now, kAllLooks), hold.ensure_extras().looks.take(now, kItsLooks));
}

void Watchdog::verify() {
  const MutexLock guard(keeper_.mutex);
  keeper_.holds.tracked.clear();
  keeper_.note_book.key_made(keeper_.holds.all());  // as far as is known
  if (keeper_.holds.size() == 0 || keeper_.closed) return;
  verify_ = true;
  keeper_.step_by({});
}

}  // namespace holdfast::lease
