#include "redis/client/pipeline.h"

#include <algorithm>
#include <utility>

#include "redis/base/mutex.h"
#include "redis/base/sync_points.h"
#include "redis/client/connection.h"
#include "redis/net/pollable.h"

namespace holdfast::client {

bool hung_up(const net::Transport& stream) {
  pollfd end{stream.fd(), net::kPollHangUp, 0};
  return poll_descriptors(&end, 1, timespec{}) > 0;
}

Pipeline::Pipeline(const Clock& time, net::Loop& engine, ConnectionSetup options,
                   Connection& connection)
    : clock(time),
      setup(std::move(options)),
      line(setup.link.reports),
      send(clock, *setup.link.stats),
      loop_(engine),
      connection_(connection) {}

void Pipeline::drive() { loop_.drive(connection_.shared_from_this()); }

void Pipeline::perform(const ReaderElection::Action& action) {
  if (action.wake != nullptr) WakeBatch::notify(*action.wake);
  if (action.drive) drive();
  if (action.drive_at != kNever) loop_.drive_at(connection_.shared_from_this(), action.drive_at);
}

void Pipeline::find_reader(Parker* preferred) {
  if (relocation.move) drive();
  if (line.empty()) return;
  if (setup.driver == Driver::kLoop) {
    if (election.ask_for_step()) drive();
    return;
  }
  if (!election.vacant()) return;
  perform(may_stay_unread() ? election.leave_unread(clock.now()) : election.submit(preferred));
}

bool Pipeline::sends_at_once(const Request& request) const {
  const bool reads = election.reader() == Reader::kThread || election.has_called();
  const bool awaits = line.awaits_replies() && !request.deferred;
  const bool sends = setup.driver == Driver::kCallers || request.deferred;
  return sends && !(reads && awaits);
}

bool Pipeline::may_stay_unread() const {
  return send.at_rest() && !line.has_unsent() && !line.has_awaited();
}

bool Pipeline::needs_loop(TimePoint now) {
  if (now >= election.unread_until()) {
    // Replies later than those for which the loop was to look may stay unread for as long.
    const bool more = !line.empty() && may_stay_unread();
    const TimePoint end = more ? after(line.first_sent(), ReaderElection::kUnread) : kNever;
    election.set_unread_until(now < end ? end : kNever);
  }
  if (election.reader() != Reader::kNone) return election.reader() == Reader::kLoop;
  const bool unread = election.unread_until() != kNever && may_stay_unread();
  if ((!line.empty() && !unread) || !closed.ok()) return true;
  if (relocation.move || relocation.decommissioned) return true;
  return send.stream() && hung_up(*send.stream());
}

TimePoint Pipeline::silent_since() const {
  return line.awaits_replies() ? std::max(line.first_sent(), last_read) : kNever;
}

bool Pipeline::ordered() const { return relocation.pending() || !closed.ok(); }

// An exchange that has begun to read its reply puts itself in the line of a closed connection, too.
bool Pipeline::given_up() const {
  return !send.stream() || (!closed.ok() && !line.awaits_replies());
}

void Pipeline::forget_stream() {
  send.close();
  line.broken();
  if (watch.watched) drive();
}

}  // namespace holdfast::client
