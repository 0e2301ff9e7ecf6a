// An event loop of the application as the leader of a connection: see ForeignLoop.

#include <poll.h>

#include <algorithm>

#include "base/mutex.h"
#include "client/connection.h"
#include "client/foreign_loop.h"

namespace holdfast::client {

namespace {

// How long what has come may wait for a leader that does not read, until the engine's loop does.
constexpr Millis kNeglect{50};

// For how long the engine's loop reads what several others use.
constexpr Millis kShared{1000};

bool readable(int fd) {
  pollfd news{fd, POLLIN, 0};
  return ::poll(&news, 1, 0) > 0;
}

}  // namespace

// There is more to do than to read replies.
bool Connection::needs_engine() const {
  const bool orders = move_ || review_ || retired_ || !closed_.ok() || oversight_.recalled;
  return orders || !send_.stream() || send_.blocked() || send_.failed();
}

// To the loop in whose Scope the calling thread is.
void Connection::lend() {
  ForeignLoop* const loop = ForeignLoop::of_this_thread();
  if (loop == nullptr || setup_.driver != Driver::kLoop) return;
  if (election_.reader() == Reader::kEventLoop || oversight_.stepping || needs_engine()) return;
  if (oversight_.shared_until != TimePoint{} && clock_.now() < oversight_.shared_until) return;
  if (link_.interest().until == TimePoint{}) return;  // it has not read all that has come
  if (!loop->take(shared_from_this(), send_.stream())) return;
  foreign_ = loop->shared_from_this();
  watched_ = send_.stream();
  election_.lease();
}

// The step that follows goes on.
void Connection::give_back() {
  foreign_->drop(*this);
  foreign_.reset();
  oversight_.recalled = true;
  perform(election_.reclaim());
}

// A request joins the line. While callers await replies, the next of them is followed by what has
// gathered.
void Connection::add_for_foreign(InFlightRequest unanswered) {
  ForeignLoop* const here = ForeignLoop::of_this_thread();
  const bool own = here == foreign_.get();
  const bool awaits = line_.awaits_replies() && line_.has_awaited();
  const bool may_gather = own && !unanswered.request->deferred;
  line_.add(std::move(unanswered));
  if (here != nullptr && !own) {
    oversight_.shared_until = after(clock_.now(), kShared);
    oversight_.recalled = true;
    loop_.drive(shared_from_this());
  }
  if (!oversight_.looks) {
    oversight_.looks = true;
    oversight_.look_at = after(clock_.now(), kNeglect);
    oversight_.turns_seen = oversight_.turns;
    loop_.drive(shared_from_this());
  }
  const bool gathers = may_gather && here->gathers(awaits);
  if (!gathers && !flush()) wake_leader();
}

void Connection::send_gathered(const ForeignLoop& loop) {
  const MutexLock lock(mutex_);
  if (foreign_.get() != &loop || !line_.has_unsent()) return;
  if (!flush()) wake_leader();
}

void Connection::turn(ForeignLoop& loop) {
  {
    const MutexLock lock(mutex_);
    if (foreign_.get() != &loop) return;
    if (needs_engine()) return give_back();
    oversight_.turning = true;
    ++oversight_.turns;
  }
  const net::Interest next = advance(clock_.now());
  const MutexLock lock(mutex_);
  oversight_.turning = false;
  if (needs_engine() || next.until == TimePoint{}) give_back();
}

void Connection::leave(const ForeignLoop& loop) {
  const MutexLock lock(mutex_);
  if (foreign_.get() == &loop) give_back();
}

// Where it reads just now, it looks for itself when it has read.
bool Connection::takes_back(TimePoint now) {
  if (oversight_.turning) return false;
  const bool late =
      now >= line_.next_overdue() || now >= after(silent_since(), setup_.link.command_timeout);
  return late || needs_engine() || neglected(now) || hung_up();
}

bool Connection::neglected(TimePoint now) {
  if (now < oversight_.look_at) return false;
  const bool idle = oversight_.turns == oversight_.turns_seen;
  oversight_.turns_seen = oversight_.turns;
  oversight_.look_at = after(now, kNeglect);
  return idle && (line_.has_unsent() || readable(send_.stream()->fd()));
}

// While another leads, the loop watches for the end of the stream, for what is late, and whether
// the leader reads.
net::Interest Connection::oversee(TimePoint now) {
  net::Interest next;
  if (oversight_.turning) {
    next.until = after(now, kNeglect);
    return next;
  }
  watched_ = send_.stream();
  release_left();
  next.fd = send_.stream()->fd();
  next.hangup = true;
  oversight_.looks = !line_.empty();
  if (!oversight_.looks) return next;
  next.until = std::min({oversight_.look_at, line_.next_overdue(),
                         after(silent_since(), setup_.link.command_timeout)});
  return next;
}

// Once more, when the loop has let go of the descriptor.
void Connection::release_left() {
  if (left_ == send_.stream()) left_.reset();
  if (left_) loop_.drive(shared_from_this());
}

// The engine's loop leads.
void Connection::begin_step() {
  if (foreign_) give_back();
  election_.begin_step();
  oversight_.recalled = oversight_.looks = false;
  oversight_.stepping = true;
}

void Connection::end_step() {
  if (setup_.driver == Driver::kCallers) {
    watched_ = send_.stream();
  } else {
    release_left();
  }
}

}  // namespace holdfast::client
