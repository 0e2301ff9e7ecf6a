#include "redis/client/connection.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "redis/base/mutex.h"
#include "redis/client/poll_for.h"

namespace holdfast::client {

namespace {

InFlightRequest in_flight(RequestPtr request) {
  const bool by_text = request->sends_text == Request::SendsText::kAlways;
  return {std::move(request), {}, false, true, by_text};
}

// How long what has come may wait for a reader that does not read, until the engine's loop does.
constexpr Millis kStalled{50};

// For how long the engine's loop reads what several others use.
constexpr Millis kLoopReads{1000};

}  // namespace

void ReadRight::offer(Pipeline& pipe, StreamReader& reader, Connection& connection) {
  EventLoopReader* const loop = EventLoopReader::of_this_thread();
  if (loop == nullptr || pipe.setup.driver != Pipeline::Driver::kLoop) return;
  if (needs_engine(pipe)) return;
  if (shared_until_ != TimePoint{} && pipe.clock.now() < shared_until_) return;
  const std::optional<ReadTurn> turn = reader.take(pipe);
  if (!turn || !reader.shows_input(*turn)) return;  // the engine's loop reads
  if (!loop->take(connection.shared_from_this(), pipe.send.stream())) return;
  loop_ = loop->shared_from_this();
  pipe.watch.watched = pipe.send.stream();
  pipe.election.let_event_loop_read();
}

// The step that follows goes on.
void ReadRight::reclaim(Pipeline& pipe, const Connection& connection) {
  loop_->drop(connection);
  loop_.reset();
  recalled_ = true;
  pipe.perform(pipe.election.reclaim());
}

// While callers await replies, the next of them is followed by what has gathered.
void ReadRight::add(Pipeline& pipe, InFlightRequest unanswered) {
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

TimePoint ReadRight::late(const Pipeline& pipe) {
  return std::min(pipe.line.next_overdue(),
                  after(pipe.silent_since(), pipe.setup.link.command_timeout));
}

// Where the EventLoopReader reads just now, it looks for itself when it has read.
bool ReadRight::must_end(const Pipeline& pipe, const StreamReader& reader, TimePoint now) {
  if (reader.taken(pipe)) return false;
  if (now >= late(pipe) || needs_engine(pipe)) return true;
  const net::Transport& stream = *pipe.send.stream();
  if (now >= look_at_) {
    const bool idle = turns_ == std::exchange(turns_seen_, turns_);
    look_at_ = after(now, kStalled);
    pollfd input{stream.fd(), POLLIN, 0};
    const bool stalled = idle && (pipe.line.has_unsent() || ::poll(&input, 1, 0) > 0);
    if (stalled) return true;
  }
  return hung_up(stream);
}

// The engine's loop watches for the end of the stream, for what is late, and whether the reader
// reads.
net::Interest ReadRight::supervise(Pipeline& pipe, const StreamReader& reader, TimePoint now) {
  net::Interest next;
  if (reader.taken(pipe)) {
    next.until = after(now, kStalled);
    return next;
  }
  pipe.watch.watched = pipe.send.stream();
  if (pipe.watch.uses_other(pipe.send.stream())) pipe.drive();
  next.fd = pipe.send.stream()->fd();
  next.hangup = true;
  supervised_ = !pipe.line.empty();
  if (supervised_) next.until = std::min(look_at_, late(pipe));
  return next;
}

void ReadRight::begin_step(Pipeline& pipe, const Connection& connection) {
  if (loop_) reclaim(pipe, connection);
  pipe.election.begin_step();
  recalled_ = supervised_ = false;
}

Connection::Connection(const Clock& clock, net::Loop& loop, Setup setup)
    : pipe_(clock, loop, std::move(setup), *this), reader_(pipe_.setup) {}

Status Connection::submit(RequestPtr request, Parker* waiter) {
  const WakeBatch wakes;
  MutexLock lock(pipe_.mutex);
  const bool taken = pipe_.takes(*request, false);
  RequestPtr ahead = std::move(request->ahead);
  InFlightRequest fresh = in_flight(std::move(request));
  if (taken) {
    if (ahead && pipe_.closed.ok()) pipe_.line.add(in_flight(std::move(ahead)));
    return add(std::move(fresh), waiter);
  }
  lock.unlock();
  if (ahead) (void)pipe_.setup.neighbours.hand_over(in_flight(std::move(ahead)), false);
  return pipe_.setup.neighbours.hand_over(std::move(fresh), false);
}

Status Connection::resubmit(InFlightRequest unanswered) {
  MutexLock lock(pipe_.mutex);
  if (pipe_.takes(*unanswered.request, true)) return add(std::move(unanswered), nullptr);
  lock.unlock();
  return pipe_.setup.neighbours.hand_over(std::move(unanswered), true);
}

Status Connection::add(InFlightRequest unanswered, Parker* waiter) {
  if (!pipe_.closed.ok()) return pipe_.closed;
  if (unanswered.barred()) return Status::revoked();
  unanswered.fresh = false;
  const bool at_once = pipe_.sends_at_once(*unanswered.request);
  const bool has_connect_deadline = unanswered.request->connect_deadline != kNever;
  const bool sooner = unanswered.request->deadline < pipe_.line.next_overdue();
  pipe_.election.meet();
  if (pipe_.election.reader() != Reader::kEventLoop) read_right_.offer(pipe_, reader_, *this);
  if (pipe_.election.reader() == Reader::kEventLoop) {
    read_right_.add(pipe_, std::move(unanswered));
    return {};
  }
  pipe_.line.add(std::move(unanswered));
  if (at_once && !SendBatch::puts_off(shared_from_this())) pipe_.send_or_wake_reader();
  // The reader may back off, or wait for what is in line, for longer.
  const bool hurries = has_connect_deadline || pipe_.login_at != TimePoint{};
  if ((hurries && !pipe_.send.stream()) || sooner) pipe_.wake_reader();
  pipe_.find_reader(waiter);
  return {};
}

void Connection::send_now(const EventLoopReader* loop) {
  const MutexLock lock(pipe_.mutex);
  if (loop != nullptr && !read_right_.is_of(*loop)) return;
  if (pipe_.line.has_unsent()) pipe_.send_or_wake_reader();
}

void Connection::review() {
  const MutexLock lock(pipe_.mutex);
  pipe_.relocation.review = true;
  wake_all();
}

void Connection::decommission() {
  const MutexLock lock(pipe_.mutex);
  pipe_.relocation.decommissioned = pipe_.relocation.review = true;
  wake_all();
}

void Connection::move(Result<net::Address> to) {
  const MutexLock lock(pipe_.mutex);
  pipe_.relocation.move = std::move(to);
  pipe_.forget_stream();
  wake_all();
}

void Connection::look_again() {
  const MutexLock lock(pipe_.mutex);
  if (pipe_.doubted) wake_all();
}

bool Connection::open() const {
  const MutexLock lock(pipe_.mutex);
  return pipe_.closed.ok() && pipe_.send.stream() != nullptr;
}

bool Connection::down() const {
  const MutexLock lock(pipe_.mutex);
  return pipe_.down;
}

void Connection::reconnect(TimePoint until) {
  const MutexLock lock(pipe_.mutex);
  if (until <= pipe_.wanted_until || pipe_.send.stream()) return;
  pipe_.wanted_until = until;
  pipe_.drive();
}

void Connection::close(Status why) {
  Completions due;
  {
    const MutexLock lock(pipe_.mutex);
    pipe_.closed = std::move(why);
    pipe_.line.fail(pipe_.closed, true, due.deliveries);
    if (pipe_.election.reader() == Reader::kNone) {
      pipe_.send.close();
      if (const std::optional<ReadTurn> turn = reader_.take(pipe_)) reader_.close(*turn);
    }
    wake_all();  // the loop may be watching the stream
  }
  due.run(pipe_.setup);
}

bool Connection::reauthenticate(const LoginPtr& login) {
  const RequestPtr request = login_request(login, pipe_.setup.link.witness);
  request->deadline = after(pipe_.clock.now(), pipe_.setup.link.command_timeout);
  const MutexLock lock(pipe_.mutex);
  if (!pipe_.send.stream() || !pipe_.takes(*request, true)) return false;
  return add({request}, nullptr).ok();
}

void Connection::wake_all() {
  pipe_.wake_reader();
  pipe_.drive();
}

void Connection::serve(Parker& parker, const ServeControl& control, TimePoint slice) {
  const Clock& clock = pipe_.clock;
  ReaderElection::Place self{&parker, &control};
  MutexLock lock(pipe_.mutex);
  for (TimePoint now = clock.now(); control.serves(now) && now < slice; now = clock.now()) {
    const bool something = pipe_.setup.driver == Driver::kCallers && !pipe_.line.empty();
    if (pipe_.election.enter(self, something).reads) {
      const std::optional<ReadTurn> turn = reader_.take(pipe_);
      if (pipe_.line.has_unsent()) (void)pipe_.flush();
      lock.unlock();
      read(*turn, parker, control, slice);
      lock.lock();
      pipe_.election.leave();
      if (pipe_.ordered()) pipe_.drive();
    } else {
      lock.unlock();
      parker.park(clock, std::min(control.end(), slice));
      if (!self.linked.load(std::memory_order_acquire)) return;
      lock.lock();
      pipe_.election.unlink(self);
    }
  }
  const WakeBatch wakes;
  pipe_.find_reader(nullptr);
  lock.unlock();
}

void Connection::read(const ReadTurn& turn, Parker& parker, const ServeControl& control,
                      TimePoint slice) {
  // A caller reads right after it has sent: then there is nothing to do before something arrives.
  // That is a reply, and soon, so the read may wait for it; what is slow is waited for by a poll,
  // which notify() ends.
  const Clock& clock = pipe_.clock;
  bool soon = true;
  std::optional<net::Interest> known = reader_.only_to_read(pipe_, turn);
  net::Interest next = known ? *known : advance(turn, clock.now());
  for (;;) {
    const TimePoint now = clock.now();
    if (next.done || !control.serves(now) || now >= slice) return;
    const Duration left = std::min({next.until, control.end(), slice}) - now;
    const Millis moment = reader_.moment(turn);
    if (soon && !next.write && moment > Millis(0) && left > moment) {
      next = advance(turn, now, Wait::kMoment);
      soon = clock.now() - now < reader_.moment(turn);
    } else {
      (void)poll_for(next, parker, left);
      next = advance(turn, clock.now());
      soon = true;
    }
  }
}

net::Interest Connection::advance(const ReadTurn& turn, TimePoint now, Wait wait) {
  const WakeBatch wakes;
  const MutexLock lock(pipe_.mutex);
  return reader_.advance(pipe_, turn, now, wait);
}

net::Interest Connection::step(TimePoint now) {
  const WakeBatch wakes;
  const MutexLock lock(pipe_.mutex);
  // The loop watches nothing from now on, but uses the descriptor until the step ends.
  pipe_.watch.left = std::exchange(pipe_.watch.watched, nullptr);
  if (pipe_.setup.driver == Driver::kCallers && !pipe_.needs_loop(now)) return watch();
  const bool by_event_loop = pipe_.election.reader() == Reader::kEventLoop;
  if (by_event_loop && !read_right_.must_end(pipe_, reader_, now)) {
    return read_right_.supervise(pipe_, reader_, now);
  }
  read_right_.begin_step(pipe_, *this);
  const std::optional<ReadTurn> turn = reader_.take(pipe_);
  const net::Interest next = reader_.advance(pipe_, *turn, now);
  const bool for_callers = pipe_.setup.driver == Driver::kCallers;
  const bool hands_back = for_callers && (pipe_.line.empty() || pipe_.election.has_parked());
  if (hands_back || next.done) pipe_.election.leave();
  if (hands_back) {
    pipe_.find_reader(nullptr);
    return watch();
  }
  if (for_callers) {
    pipe_.watch.watched = pipe_.send.stream();
  } else if (pipe_.watch.uses_other(pipe_.send.stream())) {
    pipe_.drive();
  }
  return next;
}

// The reader reads the end of the stream by itself.
net::Interest Connection::watch() {
  net::Interest next;
  const std::shared_ptr<net::Transport>& stream = pipe_.send.stream();
  const bool over = !stream || hung_up(*stream);
  pipe_.watch.watched = over ? nullptr : stream;
  const bool uses_other = pipe_.watch.uses_other(over ? nullptr : stream);
  if (uses_other) pipe_.drive();  // once more, when it has let go of the descriptor
  next.done = over && !uses_other;
  if (over) return next;
  next.until = pipe_.election.unread_until();
  next.fd = stream->fd();
  next.hangup = true;
  return next;
}

void Connection::turn(EventLoopReader& loop) {
  const WakeBatch wakes;
  const MutexLock lock(pipe_.mutex);
  if (!read_right_.is_of(loop) || !read_right_.begin_turn(pipe_, *this)) return;
  const std::optional<ReadTurn> turn = reader_.take(pipe_);
  read_right_.end_turn(pipe_, *this, reader_.advance(pipe_, *turn, pipe_.clock.now()));
}

void Connection::end_read_right(const EventLoopReader& loop) {
  const MutexLock lock(pipe_.mutex);
  if (read_right_.is_of(loop)) read_right_.reclaim(pipe_, *this);
}

namespace {
thread_local SendBatch* batch_of_this_thread = nullptr;
}  // namespace

SendBatch::SendBatch() : outer_(batch_of_this_thread) {
  if (outer_ == nullptr) batch_of_this_thread = this;
}

SendBatch::~SendBatch() {
  if (outer_ != nullptr) return;
  batch_of_this_thread = nullptr;
  for (const std::shared_ptr<Connection>& connection : connections_) connection->send_now();
}

bool SendBatch::puts_off(const std::shared_ptr<Connection>& connection) {
  SendBatch* const batch = batch_of_this_thread;
  if (batch == nullptr) return false;
  auto& all = batch->connections_;
  if (std::find(all.begin(), all.end(), connection) == all.end()) all.push_back(connection);
  return true;
}

}  // namespace holdfast::client
