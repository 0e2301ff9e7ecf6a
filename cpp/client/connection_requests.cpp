// How requests come to a connection, and when it has to let go of them.

#include <utility>

#include "base/mutex.h"
#include "base/wake_batch.h"
#include "client/connection.h"
#include "client/send_batch.h"

namespace holdfast::client {

namespace {

// Why a request does not get into the line; OK: it does.
Status refusal(const Status& closed, const InFlightRequest& unanswered) {
  if (!closed.ok()) return closed;
  return unanswered.barred() ? Status::revoked() : Status();
}

}  // namespace

Status Connection::submit(RequestPtr request, Parker* waiter) {
  const WakeBatch wakes;
  MutexLock lock(mutex_);
  const bool taken = takes(*request, false);
  InFlightRequest fresh{std::move(request), {}, false, true};
  if (taken) return add(std::move(fresh), waiter);
  lock.unlock();
  return setup_.neighbours.hand_over(std::move(fresh), false);
}

Status Connection::resubmit(InFlightRequest unanswered) {
  MutexLock lock(mutex_);
  if (takes(*unanswered.request, true)) return add(std::move(unanswered), nullptr);
  lock.unlock();
  return setup_.neighbours.hand_over(std::move(unanswered), true);
}

// What comes again has been told by a server to come here.
bool Connection::takes(const Request& request, bool again) const {
  if (!closed_.ok()) return true;  // to be told so
  if (retired_) return false;
  return again || !setup_.neighbours.mine || setup_.neighbours.mine(request);
}

void Connection::review() {
  const MutexLock lock(mutex_);
  review_ = true;
  wake_leader();
  loop_.drive(shared_from_this());
}

void Connection::retire() {
  {
    const MutexLock lock(mutex_);
    retired_ = true;
  }
  review();
}

// A leader that awaits replies sends what has gathered when the next ones arrive, all in one piece;
// one that was called, when it comes.
bool Connection::sends_at_once(const Request& request) const {
  const bool leads = election_.reader() == Reader::kThread || election_.has_called();
  const bool awaits = line_.awaits_replies() && !request.deferred;
  const bool sends = setup_.driver == Driver::kCallers || request.deferred;
  return sends && !(leads && awaits);
}

void Connection::send_now() {
  const MutexLock lock(mutex_);
  if (line_.has_unsent() && !flush()) wake_leader();
}

Status Connection::add(InFlightRequest unanswered, Parker* waiter) {
  Status refused = refusal(closed_, unanswered);
  if (!refused.ok()) return refused;
  unanswered.fresh = false;
  const bool at_once = sends_at_once(*unanswered.request);
  const bool impatient = unanswered.request->patience != kNever;
  meet_company();
  lend();
  if (election_.reader() == Reader::kEventLoop) {
    add_for_foreign(std::move(unanswered));
    return {};
  }
  line_.add(std::move(unanswered));
  if (at_once && !SendBatch::puts_off(shared_from_this()) && !flush()) wake_leader();
  if (impatient && !send_.stream()) wake_leader();  // which may be resting for longer
  find_leader(waiter);
  return {};
}

}  // namespace holdfast::client
