// A command of a thread that has a connection for itself.

#include <array>
#include <utility>

#include "base/mutex.h"
#include "base/wake_batch.h"
#include "client/connection.h"

namespace holdfast::client {

namespace {
// Where threads meet, a leader that gathers their commands sends less often than each for itself:
// the next requests after a meeting go that way.
constexpr int kCompany = 64;
// The number of replies that a thread reads before the one to its command.
constexpr std::size_t kMostUnread = 4;
}  // namespace

// What one thread has sent and read by itself.
struct Connection::Lone {
  explicit Lone(Parker* thread) : parker(thread) {}

  Parker* parker;
  std::optional<WriteTurn> turn{};
  std::shared_ptr<net::Transport> stream{};
  TimePoint begun{};
  std::uint64_t number = 0;                             // of the stream
  resp::ReplyKinds expected = resp::ReplyKinds::any();  // of the reply to its command
  std::size_t unread = 0;                               // replies that come before its own
  net::IoResult wrote{};
  net::Io got = net::Io::kDone;                           // by the last reading
  Status failure{};                                       // of kFailed
  std::size_t size = 0;                                   // of what was read
  std::array<char, 512> bytes;                            // written before it is read
  std::array<resp::PlainReply, kMostUnread + 1> replies;  // as far as read_all() has read them

  Sent sent() const { return {begun, 1, number}; }
  bool write() { return SendBuffer::write_direct(*turn, *stream, wrote); }
  void read() {
    net::IoResult result = stream->await(bytes.data() + size, bytes.size() - size);
    got = result.io;
    if (got == net::Io::kDone) size += result.bytes;
    if (got == net::Io::kFailed) failure = std::move(result.status);
  }
  std::optional<resp::PlainReply> reply() {
    read();
    if (got != net::Io::kDone) return std::nullopt;
    return resp::plain_reply(bytes.data(), size);
  }
  // All replies, wholly and alone. The first ones may come before the last.
  bool read_all() {
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= unread; ++i) {
      if (begin == size) read();
      const auto next = resp::plain_beginning({bytes.data() + begin, size - begin});
      if (next.size == 0) return false;
      replies[i] = next.reply;
      begin += next.size;
    }
    return begin == size;
  }
};

Connection::Alone Connection::exchange(const RequestPtr& request, Parker& parker,
                                       PlainAnswer& answer) {
  Lone lone(&parker);
  if (!lead_alone(*request, lone)) return Alone::kRefused;
  answer.sent = lone.sent();
  encode_alone(*request, lone);
  std::optional<resp::PlainReply> reply;
  if (lone.write()) {
    if (lone.unread == 0) {
      reply = lone.reply();
    } else if (lone.read_all()) {
      reply = lone.replies[lone.unread];
    }
  }
  const bool fits = reply && lone.expected.allow(*reply);
  if (!fits || (lone.unread > 0 && !deliver_unread(lone))) {
    put_in_line({request, answer.sent}, lone);
    return Alone::kInLine;
  }
  answer.reply = *reply;
  step_back(lone, nullptr);
  return Alone::kAnswered;
}

Connection::Posted Connection::post(const RequestPtr& request, Parker& parker,
                                    const std::function<bool()>& begin) {
  Lone lone(&parker);
  if (!lead_alone(*request, lone)) return Posted::kRefused;
  try {
    if (!begin()) {
      step_back(lone, nullptr);
      return Posted::kRefused;
    }
  } catch (...) {
    step_back(lone, nullptr);
    throw;
  }
  encode_alone(*request, lone);
  if (lone.write() && put_in_line_written({request, lone.sent()}, lone)) {
    step_back(lone, nullptr);
    return Posted::kWritten;
  }
  put_in_line({request, lone.sent()}, lone);
  return Posted::kInLine;
}

bool Connection::lead_alone(const Request& request, Lone& lone) {
  {
    const MutexLock lock(mutex_);
    if (!free_for(request)) return false;
    election_.enter_directly(*lone.parker);
    lone.turn.emplace(std::move(*send_.take()));
    lone.stream = send_.stream();
    lone.unread = line_.size();
    lone.number = line_.stream();
    lone.begun = clock_.now();
  }
  setup_.link.stats->add(Stats::Counter::kCommands);
  return true;
}

void Connection::encode_alone(const Request& request, Lone& lone) {
  try {
    lone.expected = request.encode(SendBuffer::begin_direct(*lone.turn));
  } catch (...) {
    step_back(lone, nullptr);
    throw;
  }
}

// False where the stream has been left meanwhile, or its replies are not those that are to come:
// what lay unread is to be sent again, and before the thread's own command.
bool Connection::deliver_unread(const Lone& lone) {
  std::array<InFlightRequest, kMostUnread> requests;
  {
    const MutexLock lock(mutex_);
    if (send_.stream() != lone.stream || !closed_.ok()) return false;
    if (!line_.allow_first(lone.replies, lone.unread)) return false;
    for (std::size_t i = 0; i < lone.unread; ++i) requests[i] = line_.take_first();
  }
  const WakeBatch wakes;
  for (std::size_t i = 0; i < lone.unread; ++i) {
    const auto& [request, sent, asking, fresh] = requests[i];
    if (request) request->complete(resp::Reply(lone.replies[i]), sent);
  }
  return true;
}

bool Connection::put_in_line_written(const InFlightRequest& unanswered, const Lone& lone) {
  const MutexLock lock(mutex_);
  if (send_.stream() != lone.stream || !closed_.ok()) return false;
  line_.put_behind(lone.unread, unanswered, RequestQueue::Way::kWritten, lone.expected);
  return true;
}

// No other thread uses the connection, and nothing but the exchange is to be done.
bool Connection::free_for(const Request& request) {
  if (setup_.driver != Driver::kCallers || !election_.vacant() || !sound()) return false;
  if (move_ || review_ || !lies_unread()) return false;
  if (company_ > 0) {
    --company_;
    return false;
  }
  return takes(request, false);
}

// All that is to come, or has come, are a few replies that no caller awaits, if anything.
bool Connection::lies_unread() const {
  if (line_.empty()) return !send_.unasked_input(line_);
  return line_.size() <= kMostUnread && may_lie();
}

// The stream is up, all that was written has gone out, what was read ends with a reply, and its
// reading may wait for a moment.
bool Connection::sound() const {
  if (!closed_.ok() || !send_.sound()) return false;
  return link_.failures() == 0 && link_.moment() > Millis(0) && link_.at_end();
}

void Connection::meet_company() {
  if (election_.reader() != Reader::kNone) company_ = kCompany;
}

// `waiter`: as of submit().
void Connection::step_back(Lone& lone, Parker* waiter) {
  const WakeBatch wakes;
  const MutexLock lock(mutex_);
  lone.turn.reset();
  election_.leave();
  // What has been asked of the leader meanwhile is left to the loop.
  if (review_ || retired_ || !closed_.ok()) loop_.drive(shared_from_this());
  if (line_.has_unsent()) (void)flush();
  find_leader(waiter);
}

// The request stands where it would stand if it had been submitted: behind what lay unread (of
// which nothing is ever abandoned), in front of all that has come since. What was read of its reply
// goes the way of all replies.
void Connection::put_in_line(InFlightRequest unanswered, Lone& lone) {
  bool same = false;
  {
    const MutexLock lock(mutex_);
    // Closed, what lay unread has been answered.
    same = send_.stream() == lone.stream && (closed_.ok() || lone.unread == 0);
    using Way = RequestQueue::Way;
    line_.put_behind(lone.unread, std::move(unanswered), same ? Way::kSent : Way::kUnsent,
                     lone.expected);
    if (same) {
      send_.keep_direct(*lone.turn, lone.wrote);
    }
    lone.turn.reset();
  }
  const TimePoint now = clock_.now();
  Progress progress;
  progress.failed_attempts = link_.failed_attempts();
  progress.failures = link_.failures();
  if (same && lone.size > 0) {
    progress.lost = !link_.take(now, lone.bytes.data(), lone.size, progress.replies);
  }
  if (same && !progress.lost && lone.got == net::Io::kFailed) {
    link_.fail(now, std::move(lone.failure), false);
    progress.lost = true;
  }
  (void)digest(now, std::move(progress));
  step_back(lone, lone.parker);
}

}  // namespace holdfast::client
