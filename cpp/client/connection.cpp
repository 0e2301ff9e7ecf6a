#include "client/connection.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "base/sync_points.h"
#include "base/wake_batch.h"

namespace holdfast::client {

// Completions that are due, to be called once the lock is released.
class Connection::Batch {
 public:
  RequestQueue::Answers answers;
  std::vector<InFlightRequest> leavers;
  bool lost = false;
  bool failed = false;

  void run(const Setup& setup) {
    for (auto& [to, reply] : answers) {
      const bool error = reply.ok() && reply.value().is_error();
      if (error && setup.redirect && setup.redirect(to, reply.value().text())) continue;
      to.request->complete(std::move(reply), to.sent);
    }
    for (InFlightRequest& leaver : leavers) pass_on(setup, std::move(leaver));
    tell(setup);
  }

 private:
  void tell(const Setup& setup) const {
    if (lost && setup.on_lost) setup.on_lost();
    if (failed && setup.on_failed) setup.on_failed();
  }
  static void pass_on(const Setup& setup, InFlightRequest leaver) {
    const RequestPtr request = leaver.request;
    const Sent sent = leaver.sent;
    const Status refused = setup.neighbours.hand_over(std::move(leaver), true);
    if (!refused.ok()) request->complete(refused, sent);
  }
};

namespace {

// Of a command, or of one inside a script, where the server may put its own words before it.
bool says_readonly(const resp::Reply& reply) {
  if (!reply.is_error()) return false;
  const std::string_view text = reply.text();
  return text.substr(0, 9) == "READONLY " || text.find("-READONLY ") != std::string_view::npos;
}

}  // namespace

Connection::Connection(const Clock& clock, net::Loop& loop, Setup setup)
    : clock_(clock),
      loop_(loop),
      setup_(std::move(setup)),
      link_(setup_.link, setup_.open),
      send_(clock, *setup_.link.stats) {}

net::Interest Connection::step(TimePoint now) {
  const bool for_callers = setup_.driver == Driver::kCallers;
  {
    const MutexLock lock(mutex_);
    left_ = std::exchange(watched_, nullptr);
    if (for_callers && !needs_loop(now)) return watch();
    if (election_.reader() == Reader::kEventLoop && !takes_back(now)) return oversee(now);
    begin_step();
  }
  net::Interest next = advance(now);
  const WakeBatch wakes;
  const MutexLock lock(mutex_);
  oversight_.stepping = false;
  look_again(next, now);
  const bool hands_back = for_callers && (line_.empty() || election_.has_parked());
  if (hands_back || next.done) election_.vacate();
  if (hands_back) {
    find_leader(nullptr);
    return watch();
  }
  end_step();
  return next;
}

// A request may have arrived since advance() looked.
void Connection::look_again(net::Interest& next, TimePoint now) const {
  if (!next.done || line_.empty()) return;
  next.done = false;
  next.until = now;
}

bool Connection::needs_loop(TimePoint now) {
  if (now >= election_.unread_until()) election_.set_unread_until(unread_end(now));
  if (election_.reader() != Reader::kNone) return election_.reader() == Reader::kLoop;
  const bool unread = election_.unread_until() != kNever && may_lie();
  return (!line_.empty() && !unread) || move_ || hung_up() || !closed_.ok() || retired_;
}

net::Interest Connection::watch() {
  net::Interest next;
  const bool over = !send_.stream() || hung_up();  // a leader reads the end of the stream by itself
  watched_ = over ? nullptr : send_.stream();
  if (left_ == watched_) left_.reset();
  if (left_) loop_.drive(shared_from_this());  // once more, when it has let go of the descriptor
  next.done = over && !left_;
  if (over) return next;
  next.until = election_.unread_until();
  next.fd = send_.stream()->fd();
  next.hangup = true;
  return next;
}

bool Connection::hung_up() const {
  if (!send_.stream()) return false;
  pollfd end{send_.stream()->fd(), POLLRDHUP, 0};
  return poll_descriptors(&end, 1, timespec{}) > 0;
}

net::Interest Connection::advance(TimePoint now, ReconnectingStream::Wait wait) {
  obey_move();
  Progress progress = advance_link(now, wait);
  return digest(wait != ReconnectingStream::Wait::kNone ? clock_.now() : now, std::move(progress));
}

// What has come of the stream: to the requests, and to those who watch over it.
net::Interest Connection::digest(TimePoint now, Progress progress) {
  Batch batch;
  {
    const MutexLock lock(mutex_);
    if (!progress.replies.empty()) last_read_ = now;
    batch.answers.reserve(progress.replies.size());
    const bool ends = !take_replies(progress.replies, now, batch);
    if (progress.ready && !move_) stream_ready(now);
    if (progress.lost || ends || stream_failed(now)) stream_lost(batch);
    batch.failed = link_.failed_attempts() > progress.failed_attempts;
    if (batch.failed || link_.state() == ReconnectingStream::State::kNowhere) {
      attempt_failed(link_.failures() > progress.failures, batch);
      drop_impatient(now, batch);
    }
    settle(now, batch);
    (void)flush();
  }
  const WakeBatch wakes;
  batch.run(setup_);
  const MutexLock lock(mutex_);
  election_.reply();
  return interest();
}

void Connection::settle(TimePoint now, Batch& batch) {
  if (std::exchange(review_, false)) hand_over(batch);
  drop_overdue(now, batch);
  if (!closed_.ok()) {
    line_.fail(closed_, true, batch.answers);
    send_.close();
  }
  send_.unblock();
}

Connection::Progress Connection::advance_link(TimePoint now, ReconnectingStream::Wait wait) {
  Progress progress;
  progress.failed_attempts = link_.failed_attempts();
  progress.failures = link_.failures();
  if (!wanted()) {
    link_.close();
  } else if (link_.state() == ReconnectingStream::State::kReady) {
    progress.lost = !link_.read(now, progress.replies, wait);
  } else {
    if (impatient(now)) link_.hurry(now);
    progress.ready = link_.advance(now);
  }
  return progress;
}

void Connection::obey_move() {
  const MutexLock lock(mutex_);
  if (!move_) return;
  link_.move(std::move(*move_));
  move_.reset();
}

// A stream that the reader thinks well of may be dead all the same.
bool Connection::stream_failed(TimePoint now) {
  if (!send_.stream()) return false;
  if (send_.failed()) {
    link_.fail(now, Status::unreachable("cannot send commands to " + address()), true);
    return true;
  }
  const Millis command_timeout = setup_.link.command_timeout;
  if (now < after(silent_since(), command_timeout)) return false;
  link_.fail(now,
             Status::unreachable("no reply from " + address() + " within " +
                                 std::to_string(command_timeout.count()) + " ms"),
             true);
  return true;
}

// What is on the wire still when its server is out of reach may go elsewhere: if it is executed
// here, then before the answer there, and it may be executed twice.
void Connection::hand_over(Batch& batch) {
  if (retired_) {
    if (link_.transport()) link_.transport()->abort();
    link_.close();
  }
  if (retired_ || !send_.stream()) {
    stream_lost(batch);
    for (InFlightRequest& unanswered : line_.take_all()) {
      const bool stays = !retired_ && setup_.neighbours.mine(*unanswered.request);
      if (stays)
        line_.add(std::move(unanswered));
      else
        batch.leavers.push_back(std::move(unanswered));
    }
  }
}

// A stream that is up is read; a new one is made only for a request.
bool Connection::wanted() const {
  const MutexLock lock(mutex_);
  return closed_.ok() && (!line_.empty() || send_.stream());
}

// The latest attempt to connect met nothing that listens.
bool Connection::refuses() const {
  const bool failed = link_.failures() > 0 || link_.state() == ReconnectingStream::State::kNowhere;
  return failed && link_.failure().reach() == Reach::kRefused;
}

bool Connection::impatient(TimePoint now) const {
  if (!refuses()) return false;
  const MutexLock lock(mutex_);
  return line_.next_impatient() <= now;
}

net::Interest Connection::interest() const {
  net::Interest next = link_.interest();
  const bool down = link_.state() == ReconnectingStream::State::kResting ||
                    link_.state() == ReconnectingStream::State::kNowhere;
  if (down && refuses()) next.until = std::min(next.until, line_.next_impatient());
  next.until = std::min(next.until, line_.next_overdue());
  if (send_.stream()) {
    next.write = send_.blocked();
    if (send_.failed()) next.until = TimePoint{};  // advance() says what follows
    if (line_.awaits_replies())
      next.until = std::min(next.until, after(silent_since(), setup_.link.command_timeout));
  }
  // The loop keeps reading its own streams; any other leader stops when all requests are answered.
  const bool keeps = setup_.driver == Driver::kLoop && send_.stream();
  next.done = line_.empty() && !keeps;
  return next;
}

// False when the stream ends here: what is unanswered stays in the line, to be sent again. Either
// the server has become a replica, or its replies are not those to our commands.
bool Connection::take_replies(std::vector<resp::Reply>& replies, TimePoint now, Batch& batch) {
  const bool must_be_primary = !setup_.link.service.empty();
  for (resp::Reply& reply : replies) {
    if (must_be_primary && line_.awaits_replies() && says_readonly(reply)) {
      link_.fail(now, Status::unreachable(address() + " is a replica now"), true);
      return false;
    }
    switch (line_.take(std::move(reply), batch.answers)) {
      case RequestQueue::Taken::kTaken:
        break;
      case RequestQueue::Taken::kUnasked:
        link_.protocol_error(now, ReconnectingStream::kSurplus);
        return false;
      case RequestQueue::Taken::kMismatched:
        link_.protocol_error(now, "sent " + std::string(resp::word_for(reply.kind())) +
                                      " in reply to a command that cannot have one");
        return false;
    }
  }
  return true;
}

void Connection::stream_ready(TimePoint now) {
  send_.open(link_.transport());
  last_read_ = now;
  if (setup_.driver == Driver::kCallers) loop_.drive(shared_from_this());
}

void Connection::stream_lost(Batch& batch) {
  if (send_.stream()) batch.lost = true;
  forget_stream();
}

void Connection::forget_stream() {
  send_.close();
  line_.broken();
  if (watched_) loop_.drive(shared_from_this());
}

void Connection::move(Result<net::Address> to) {
  const MutexLock lock(mutex_);
  move_ = std::move(to);
  forget_stream();
  wake_leader();
  loop_.drive(shared_from_this());
}

void Connection::attempt_failed(bool counts, Batch& batch) {
  const Status& why = link_.failure();
  if (link_.refused()) {
    line_.fail(why, why.code() == Code::kServer, batch.answers);
  } else if (counts) {
    line_.attempt_failed(setup_.link.retries, why, batch.answers);
  }
}

void Connection::drop_impatient(TimePoint now, Batch& batch) {
  if (!send_.stream() && refuses()) line_.drop_impatient(now, link_.failure(), batch.answers);
}

void Connection::drop_overdue(TimePoint now, Batch& batch) {
  if (now < line_.next_overdue()) return;
  const bool unknown = send_.stream() || link_.failure().ok();
  const bool greets = !send_.stream() && setup_.link.tls.enabled;
  const std::string late =
      "no reply from " + address() + " in time" + (greets ? "; does its port speak TLS?" : "");
  const Status& why = link_.failure();
  line_.drop_overdue(now,
                     unknown ? Status::unreachable(late)
                             : Status::unreachable(why.message()).caused_by(why.cause()),
                     batch.answers);
}

bool Connection::flush() {
  const std::optional<WriteTurn> turn = send_.take();
  return !turn || send_.flush(*turn, line_, mutex_);
}

TimePoint Connection::silent_since() const {
  return line_.awaits_replies() ? std::max(line_.first_sent(), last_read_) : kNever;
}

void Connection::close(Status why) {
  Batch batch;
  {
    const MutexLock lock(mutex_);
    closed_ = std::move(why);
    line_.fail(closed_, true, batch.answers);
    if (election_.reader() == Reader::kNone) {
      send_.close();
      link_.close();
    }
    wake_leader();
    loop_.drive(shared_from_this());  // which may be watching the stream
  }
  batch.run(setup_);
}

}  // namespace holdfast::client
