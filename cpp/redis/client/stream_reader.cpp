#include "redis/client/stream_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "redis/base/mutex.h"
#include "redis/resp/reply.h"

namespace holdfast::client {

namespace {

// How long a reply may wait for another server to be found: a try's caller waits for 0.25 s.
constexpr Millis kWithheld{40};

resp::Reply readonly_reply() {
  resp::Reader reader;
  reader.feed(resp::kReplicaReply.data(), resp::kReplicaReply.size());
  return std::move(*reader.next().value());
}

// Keeps the memory for a usual number of elements.
template <typename Element>
void empty(std::vector<Element>& all) {
  constexpr std::size_t kUsual = 64;
  if (all.capacity() > kUsual) return std::vector<Element>().swap(all);
  all.clear();
}

}  // namespace

void Completions::run(const ConnectionSetup& setup) {
  for (auto& [to, reply] : deliveries) {
    const bool error = reply.ok() && reply.value().is_error();
    if (error && setup.redirect && setup.redirect(to, reply.value().text())) continue;
    to.request->complete(std::move(reply), to.sent);
  }
  for (InFlightRequest& leaver : leavers) {
    const RequestPtr request = leaver.request;
    const Sent sent = leaver.sent;
    const Status refused = setup.neighbours.hand_over(std::move(leaver), true);
    if (!refused.ok()) request->complete(refused, sent);
  }
  if (!changes.empty() && setup.on_changes) setup.on_changes(changes);
  if (lost && setup.on_lost) setup.on_lost();
  if (failed && setup.on_failed) setup.on_failed();
  empty(deliveries);
  leavers.clear();
  changes = {};
  lost = failed = false;
}

net::IoResult StreamReader::look(net::Transport& stream, char* into, std::size_t size) {
  const auto begun = BusyPoll::Time::now();
  BusyPoll::Reading reading;
  net::IoResult result{net::Io::kWantRead, 0, {}};
  if (busy_poll_.looks()) {
    BusyPoll::look(begun, reading, *setup_.link.stats, [&] {
      result = stream.read(into, size);
      return result.io != net::Io::kWantRead;
    });
  }
  if (result.io == net::Io::kWantRead) result = stream.await(into, size);
  reading.took = BusyPoll::Time::now() - begun;
  busy_poll_.measured(reading);
  return result;
}

net::Interest StreamReader::advance(Pipeline& pipe, const ReadTurn& /*turn*/, TimePoint now,
                                    Wait wait) {
  auto& to = pipe.relocation.move;
  if (to) link_.move(*std::exchange(to, std::nullopt));
  // A stream that is up is read, a new one is made only for a request.
  const bool used = !pipe.line.empty() || pipe.send.stream() || now < pipe.wanted_until;
  const bool wanted = pipe.closed.ok() && used && pipe.next_login(now) == kNever;
  if (refuses() && pipe.line.next_connect_deadline() <= now) link_.hurry(now);
  Progress progress{link_.failed_attempts(), link_.failures()};
  {
    const MutexUnlock unlocked(pipe.mutex);
    if (!wanted) {
      link_.close();
    } else if (link_.state() == ReconnectingStream::State::kReady) {
      progress.lost = !link_.read(now, replies_, wait);
    } else {
      progress.ready = link_.advance(now);
    }
    if (wait != Wait::kNone) now = pipe.clock.now();
  }
  return digest(pipe, now, progress);
}

std::optional<net::Interest> StreamReader::only_to_read(const Pipeline& pipe,
                                                        const ReadTurn& /*turn*/) const {
  if (link_.state() != ReconnectingStream::State::kReady) return std::nullopt;
  const MutexLock lock(pipe.mutex);
  if (!pipe.send.stream() || pipe.relocation.pending()) return std::nullopt;
  return interest(pipe);
}

void StreamReader::take_input(Pipeline& pipe, const ReadTurn& /*turn*/, DirectInput input) {
  const TimePoint now = pipe.clock.now();
  Progress progress{link_.failed_attempts(), link_.failures()};
  if (input.current && input.size > 0) {
    progress.lost = !link_.take(now, input.bytes, input.size, replies_);
  }
  if (input.current && !progress.lost && input.io == net::Io::kFailed) {
    link_.fail(now, std::move(input.failure), false);
    progress.lost = true;
  }
  const WakeBatch wakes;
  const MutexLock lock(pipe.mutex);
  (void)digest(pipe, now, progress);
}

// Passes on what has come of the stream: to the requests, and to those who watch over it.
net::Interest StreamReader::digest(Pipeline& pipe, TimePoint now, const Progress& progress) {
  const bool ends = !pipe.given_up() && !take_replies(pipe, now);
  if (progress.ready && !pipe.relocation.move) stream_ready(pipe, now);
  if (progress.lost || ends || stream_failed(pipe, now)) stream_lost(pipe);
  due_.failed = link_.failed_attempts() > progress.failed_attempts;
  if (due_.failed || link_.state() == ReconnectingStream::State::kNowhere) {
    attempt_failed(pipe, now, link_.failures() > progress.failures);
  }
  settle(pipe, now);
  const bool stuck = !pipe.flush();
  due_.changes = link_.take_changes();
  if (!pipe.send.stream()) held_back_.reset();
  if (!held_back_) passing_ = 0;
  {
    const MutexUnlock unlocked(pipe.mutex);
    if (!held_back_) empty(replies_);
    due_.run(setup_);
  }
  if (pipe.election.has_parked()) pipe.election.reply();
  net::Interest next = interest(pipe);
  // Where commands stay here for another cause than lack of room, reading at once shows it.
  if (stuck && !next.write) next.until = TimePoint{};
  return next;
}

void StreamReader::settle(Pipeline& pipe, TimePoint now) {
  if (std::exchange(pipe.relocation.review, false)) hand_over(pipe);
  if (now >= pipe.line.next_overdue()) drop_overdue(pipe, now);
  if (!pipe.closed.ok()) {
    pipe.line.fail(pipe.closed, true, due_.deliveries);
    pipe.send.close();
  }
  pipe.send.unblock();
}

// A stream that the reader thinks well of may be dead all the same.
bool StreamReader::stream_failed(const Pipeline& pipe, TimePoint now) {
  if (!pipe.send.stream()) return false;
  const bool silent = now >= after(pipe.silent_since(), setup_.link.command_timeout);
  if (!pipe.send.failed() && !silent) return false;
  const std::string server = address().text();
  const std::string within = std::to_string(setup_.link.command_timeout.count()) + " ms";
  link_.fail(
      now,
      Status::unreachable(pipe.send.failed() ? "cannot send commands to " + server
                                             : "no reply from " + server + " within " + within),
      true);
  return true;
}

// What is on the wire still when its server is out of reach may go elsewhere: if it is executed
// here, then before the answer there, and it may be executed twice.
void StreamReader::hand_over(Pipeline& pipe) {
  const bool decommissioned = pipe.relocation.decommissioned;
  if (decommissioned) {
    if (link_.transport()) link_.transport()->abort();
    link_.close();
  }
  if (!decommissioned && pipe.send.stream()) return;
  stream_lost(pipe);
  for (InFlightRequest& unanswered : pipe.line.take_all()) {
    const bool stays = !decommissioned && setup_.neighbours.mine(*unanswered.request);
    if (stays)
      pipe.line.add(std::move(unanswered));
    else
      due_.leavers.push_back(std::move(unanswered));
  }
}

bool StreamReader::refuses() const {
  const bool failed = link_.failures() > 0 || link_.state() == ReconnectingStream::State::kNowhere;
  return failed && link_.failure().reach() == Reach::kRefused;
}

net::Interest StreamReader::interest(const Pipeline& pipe) const {
  net::Interest next = link_.interest();
  const bool down = link_.state() == ReconnectingStream::State::kBackingOff ||
                    link_.state() == ReconnectingStream::State::kNowhere;
  if (down && refuses()) next.until = std::min(next.until, pipe.line.next_connect_deadline());
  next.until = std::min(next.until, pipe.line.next_overdue());
  if (held_back_) next.until = std::min(next.until, held_back_->until);
  const bool up = pipe.send.stream() != nullptr;
  if (up) {
    next.write = pipe.send.blocked();
    if (pipe.send.failed()) next.until = TimePoint{};  // advance() says what follows
    if (pipe.line.awaits_replies())
      next.until = std::min(next.until, after(pipe.silent_since(), setup_.link.command_timeout));
  }
  // The loop keeps reading its own streams; any other reader stops when all requests are answered.
  const bool keeps = up && setup_.driver == ConnectionSetup::Driver::kLoop;
  next.until = std::min(next.until, pipe.next_login(pipe.clock.now()));
  // A stream is to be made though no request needs it.
  const bool wanted = pipe.closed.ok() && !up && pipe.clock.now() < pipe.wanted_until;
  if (wanted) next.until = std::min(next.until, pipe.wanted_until);
  next.done = pipe.line.empty() && !keeps && !wanted;
  return next;
}

// False when the stream ends here: what is unanswered stays in the line, to be sent again. Either
// the server has become a replica, or its replies are not those to our commands.
bool StreamReader::take_replies(Pipeline& pipe, TimePoint now) {
  if (replies_.empty()) return true;
  pipe.last_read = now;
  const bool must_be_primary = !setup_.link.service.empty();
  for (std::size_t i = 0; i < replies_.size(); ++i) {
    resp::Reply& reply = replies_[i];
    if (holds_back(pipe, reply, now)) {
      replies_.erase(replies_.begin(), replies_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    const bool of_replica = reply.is_error() && resp::says_readonly(reply.text());
    if (must_be_primary && of_replica && pipe.line.awaits_replies()) {
      link_.fail(now, Status::unreachable(address().text() + " is a replica now"), true);
      return false;
    }
    if (setup_.link.signs && answers_ping(pipe, reply)) reply = readonly_reply();
    switch (pipe.line.take(std::move(reply), address(), due_.deliveries)) {
      case RequestQueue::Taken::kTaken:
        link_.replied();
        break;
      case RequestQueue::Taken::kUnasked:
        link_.unasked(now, reply);
        return false;
      case RequestQueue::Taken::kMismatched:
        link_.protocol_error(now, misfit(reply));
        return false;
    }
  }
  return true;
}

// Whether the reply, and what is behind it, has to wait.
bool StreamReader::holds_back(Pipeline& pipe, const resp::Reply& reply, TimePoint now) {
  if (!setup_.link.signs || !pipe.line.awaits_replies()) return false;
  if (passing_ > 0) {
    --passing_;
    return false;
  }
  if (reply.is_error() ? is_sign(reply) : answers_ping(pipe, reply)) {
    return held_back_ ? still_holds_back(pipe, now) : begin_to_withhold(pipe, reply, now);
  }
  if (!pipe.doubted || reply.is_error() || role_of(reply) != Role::kUnknown) return false;
  const bool as_primary = refused_.empty() && pipe.role != Role::kReplica;
  if (as_primary || pipe.line.first_key() == refused_) {
    pipe.doubted = false;
    setup_.link.signs->accepted();
  }
  return false;
}

bool StreamReader::is_sign(const resp::Reply& error) const {
  if (setup_.link.signs->is_sign(error.text())) return true;
  if (resp::is_out_of_order(error.text())) setup_.link.signs->refused_for_now();
  return false;
}

bool StreamReader::still_holds_back(Pipeline& pipe, TimePoint now) {
  const RequestPtr asked = held_back_->asked;
  const auto place = asked ? pipe.line.replies_before(*asked) : std::nullopt;
  if (place && *place < replies_.size()) {
    pipe.role = role_of(replies_[*place]);
    held_back_->asked = nullptr;
    if (pipe.role != Role::kPrimary) held_back_->look = setup_.link.signs->report();
  }
  const bool looks = held_back_->look != 0 && !setup_.link.signs->over(held_back_->look);
  const bool late = now >= held_back_->until;
  if (!late && (held_back_->asked || looks)) return true;
  if (held_back_->asked) (void)setup_.link.signs->report();
  passing_ = replies_.size() - 1;  // this one passes now
  held_back_.reset();
  return false;
}

bool StreamReader::begin_to_withhold(Pipeline& pipe, const resp::Reply& sign, TimePoint now) {
  const bool of_replica = !sign.is_error() || resp::says_readonly(sign.text());
  const bool role_shows = of_replica && pipe.role != Role::kUnknown;
  refused_ = role_shows ? std::string_view() : pipe.line.first_key();
  pipe.doubted = true;
  HeldBack held{after(now, kWithheld)};
  if (of_replica && pipe.role == Role::kPrimary) {
    // A server that was the primary is asked first, behind what is on its way: a proxy's word for
    // one command is no reason to leave a stream.
    held.asked = std::make_shared<PlainRequest>(
        link_.greeting().role_command(), resp::ReplyKinds::any(), [](const auto&, const auto&) {});
    held.asked->deadline = after(now, setup_.link.command_timeout);
    pipe.line.add({held.asked});
  } else {
    held.look = setup_.link.signs->report();
    if (held.look == 0) return false;
  }
  held_back_ = std::move(held);
  return true;
}

void StreamReader::stream_ready(Pipeline& pipe, TimePoint now) {
  pipe.send.open(link_.transport());
  pipe.down = false;
  pipe.login_at = {};
  pipe.line.opened(link_.tracked());
  pipe.role = link_.greeting().role();
  pipe.doubted = pipe.doubted || (setup_.link.signs && pipe.role == Role::kReplica);
  pipe.last_read = now;
  if (setup_.driver == ConnectionSetup::Driver::kCallers) pipe.drive();
}

void StreamReader::stream_lost(Pipeline& pipe) {
  if (pipe.send.stream()) due_.lost = true;
  pipe.forget_stream();
}

// Or no address is known.
void StreamReader::attempt_failed(Pipeline& pipe, TimePoint now, bool counts) {
  const Status& why = link_.failure();
  pipe.down = pipe.down || (due_.failed && (!due_.lost || refuses()));
  if (link_.login_refused()) {
    pipe.login_at = after(now, kLoginPause);
    pipe.line.login_refused(why, due_.deliveries);
  } else if (link_.refused()) {
    pipe.line.fail(why, why.code() == Code::kServer, due_.deliveries);
  } else if (counts) {
    pipe.line.attempt_failed(setup_.link.retries, why, due_.deliveries);
  }
  if (!pipe.send.stream() && refuses()) pipe.line.drop_connect_overdue(now, why, due_.deliveries);
}

void StreamReader::drop_overdue(Pipeline& pipe, TimePoint now) {
  const Status& why = link_.failure();
  const bool up = pipe.send.stream() != nullptr;
  const bool unknown = up || why.ok();
  const bool refused = !up && link_.login_refused();
  const bool greets = !up && setup_.link.tls.enabled;
  const std::string late = "no reply from " + address().text() + " in time" +
                           (greets ? "; does its port speak TLS?" : "");
  pipe.line.drop_overdue(now,
                         refused   ? why
                         : unknown ? Status::unreachable(late)
                                   : Status::unreachable(why.message()).caused_by(why.cause()),
                         due_.deliveries);
}

}  // namespace holdfast::client
