// How requests come to a connection, and when it has to let go of them.

#include <utility>

#include "client/connection.h"

namespace holdfast::client {

Status Connection::submit(RequestPtr request, Parker* waiter) {
  Lock lock(mutex_);
  const bool taken = takes(*request, false);
  InFlightRequest fresh{std::move(request), {}, false, true};
  if (taken) return add(lock, std::move(fresh), waiter);
  lock.unlock();
  return setup_.neighbours.hand_over(std::move(fresh), false);
}

Status Connection::resubmit(InFlightRequest unanswered) {
  Lock lock(mutex_);
  if (takes(*unanswered.request, true)) return add(lock, std::move(unanswered), nullptr);
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
  const Lock lock(mutex_);
  review_ = true;
  wake_leader();
  loop_.drive(shared_from_this());
}

void Connection::retire() {
  {
    const Lock lock(mutex_);
    retired_ = true;
  }
  review();
}

Status Connection::add(Lock& lock, InFlightRequest unanswered, Parker* waiter) {
  if (!closed_.ok()) return closed_;
  if (unanswered.barred()) return Status::revoked();
  unanswered.fresh = false;
  // A leader that awaits replies sends what has gathered when the next ones arrive, all in one
  // piece; one that was called, when it comes.
  const bool leads = leader_ == Leader::kCaller || called_ != nullptr;
  const bool gathers = leads && line_.awaits_replies();
  line_.add(std::move(unanswered));
  if (setup_.driver == Driver::kCallers && !gathers && !flush(lock)) wake_leader();
  find_leader(waiter);
  return {};
}

}  // namespace holdfast::client
