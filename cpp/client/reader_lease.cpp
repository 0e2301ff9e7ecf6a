#include "client/reader_lease.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "client/connection.h"

namespace holdfast::client {

namespace {

// How long what has come may wait for a reader that does not read, until the engine's loop does.
constexpr Millis kStalled{50};

// For how long the engine's loop reads what several others use.
constexpr Millis kLoopReads{1000};

bool readable(int fd) {
  pollfd input{fd, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
}

}  // namespace

void ReaderLease::offer(Pipeline& pipe, StreamReader& reader, Connection& connection) {
  EventLoopReader* const loop = EventLoopReader::of_this_thread();
  if (loop == nullptr || pipe.setup.driver != Pipeline::Driver::kLoop) return;
  if (needs_engine(pipe)) return;
  if (shared_until_ != TimePoint{} && pipe.clock.now() < shared_until_) return;
  const std::optional<ReadTurn> turn = reader.take(pipe);
  if (!turn || !reader.shows_input(*turn)) return;  // the engine's loop reads
  if (!loop->take(connection.shared_from_this(), pipe.send.stream())) return;
  loop_ = loop->shared_from_this();
  pipe.watch.watch(pipe.send.stream());
  pipe.election.lease();
}

// The step that follows goes on.
void ReaderLease::reclaim(Pipeline& pipe, const Connection& connection) {
  loop_->drop(connection);
  loop_.reset();
  recalled_ = true;
  pipe.perform(pipe.election.reclaim());
}

// While callers await replies, the next of them is followed by what has gathered.
void ReaderLease::add(Pipeline& pipe, InFlightRequest unanswered) {
  EventLoopReader* const here = EventLoopReader::of_this_thread();
  const bool own = here != nullptr && here == loop_.get();
  const bool awaits = pipe.line.awaits_replies() && pipe.line.has_awaited();
  const bool may_gather = own && !unanswered.request->deferred;
  pipe.line.add(std::move(unanswered));
  if (here != nullptr && !own) {
    shared_until_ = after(pipe.clock.now(), kLoopReads);
    recalled_ = true;
    pipe.drive();
  }
  if (!supervised_) {
    supervised_ = true;
    look_at_ = after(pipe.clock.now(), kStalled);
    turns_seen_ = turns_;
    pipe.drive();
  }
  const bool gathers = may_gather && here->gathers(awaits);
  if (!gathers) pipe.send_or_wake_reader();
}

TimePoint ReaderLease::late(const Pipeline& pipe) {
  return std::min(pipe.line.next_overdue(),
                  after(pipe.silent_since(), pipe.setup.link.command_timeout));
}

// Where the EventLoopReader reads just now, it looks for itself when it has read.
bool ReaderLease::must_end(const Pipeline& pipe, const StreamReader& reader, TimePoint now) {
  if (reader.taken(pipe)) return false;
  if (now >= late(pipe) || needs_engine(pipe)) return true;
  return stalled(pipe, now) || hung_up(*pipe.send.stream());
}

bool ReaderLease::stalled(const Pipeline& pipe, TimePoint now) {
  if (now < look_at_) return false;
  const bool idle = turns_ == turns_seen_;
  turns_seen_ = turns_;
  look_at_ = after(now, kStalled);
  return idle && (pipe.line.has_unsent() || readable(pipe.send.stream()->fd()));
}

// The engine's loop watches for the end of the stream, for what is late, and whether the reader
// reads.
net::Interest ReaderLease::supervise(Pipeline& pipe, const StreamReader& reader, TimePoint now) {
  net::Interest next;
  if (reader.taken(pipe)) {
    next.until = after(now, kStalled);
    return next;
  }
  pipe.watch.watch(pipe.send.stream());
  if (pipe.watch.uses_other(pipe.send.stream())) pipe.drive();
  next.fd = pipe.send.stream()->fd();
  next.hangup = true;
  supervised_ = !pipe.line.empty();
  if (supervised_) next.until = std::min(look_at_, late(pipe));
  return next;
}

void ReaderLease::begin_step(Pipeline& pipe, const Connection& connection) {
  if (loop_) reclaim(pipe, connection);
  pipe.election.begin_step();
  recalled_ = supervised_ = false;
}

}  // namespace holdfast::client
