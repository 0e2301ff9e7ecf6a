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
}  // namespace

// What one thread has sent and read by itself.
struct Connection::Lone {
  explicit Lone(Parker* thread) : parker(thread) {}

  Parker* parker;
  std::shared_ptr<net::Transport> stream{};
  net::IoResult wrote{};
  net::IoResult got{};
  std::array<char, 512> bytes;  // written before it is read

  void exchange(const std::string& command) {
    wrote = stream->write(command.data(), command.size());
    if (wrote.io == net::Io::kDone && wrote.bytes == command.size()) {
      got = stream->await(bytes.data(), bytes.size());
    }
  }
  std::optional<resp::PlainReply> reply() const {
    if (got.io != net::Io::kDone) return std::nullopt;
    return resp::plain_reply(bytes.data(), got.bytes);
  }
};

Connection::Alone Connection::exchange(const RequestPtr& request, Parker& parker,
                                       PlainAnswer& answer) {
  Lone lone(&parker);
  {
    const MutexLock lock(mutex_);
    if (!free_for(*request)) return Alone::kRefused;
    leader_ = Leader::kCaller;
    leading_ = &parker;
    alone_ = true;
    lone.stream = writer_;
    answer.sent = {clock_.now(), 1, line_.stream()};
    request->encode(writing_);
  }
  setup_.link.stats->add(Stats::Counter::kCommands);
  lone.exchange(writing_);
  const std::optional<resp::PlainReply> reply = lone.reply();
  if (!reply) {
    put_in_line({request, answer.sent}, lone);
    return Alone::kInLine;
  }
  answer.reply = *reply;
  step_back(nullptr);
  return Alone::kAnswered;
}

// No other thread uses the connection, and nothing but the exchange is to be done.
bool Connection::free_for(const Request& request) {
  if (setup_.driver != Driver::kCallers || leader_ != Leader::kNone || !sound()) return false;
  if (!line_.empty() || called_ != nullptr || flushing_ || move_ || review_) return false;
  if (company_ > 0) {
    --company_;
    return false;
  }
  return takes(request, false);
}

// The stream is up, all that was written has gone out, and its reading may wait for a moment.
bool Connection::sound() const {
  if (!writer_ || !closed_.ok() || !out_.empty() || write_blocked_ || write_failed_) return false;
  return link_.failures() == 0 && link_.moment() > Millis(0);
}

void Connection::meet_company() {
  if (leader_ != Leader::kNone) company_ = kCompany;
}

// `waiter`: as of submit().
void Connection::step_back(Parker* waiter) {
  const WakeBatch wakes;
  const MutexLock lock(mutex_);
  if (alone_) writing_.clear();  // else it is in line, and another thread may be writing
  alone_ = false;
  leader_ = Leader::kNone;
  leading_ = nullptr;
  // What has been asked of the leader meanwhile is left to the loop.
  if (review_ || retired_ || !closed_.ok()) loop_.drive(shared_from_this());
  if (line_.has_unsent()) (void)flush();
  find_leader(waiter);
}

// The request stands where it would stand if it had been submitted: in front of all that has come
// since. What was read of its reply goes the way of all replies.
void Connection::put_in_line(InFlightRequest unanswered, Lone& lone) {
  bool same = false;
  {
    const MutexLock lock(mutex_);
    alone_ = false;
    same = writer_ == lone.stream;
    line_.put_in_front(std::move(unanswered), same);
    if (same) {
      out_.assign(writing_, lone.wrote.bytes);
      write_blocked_ = lone.wrote.io == net::Io::kWantWrite;
      write_failed_ = lone.wrote.io == net::Io::kFailed;
    }
    writing_.clear();
  }
  const TimePoint now = clock_.now();
  Progress progress;
  progress.failed_attempts = link_.failed_attempts();
  if (same && lone.got.io == net::Io::kFailed) {
    link_.fail(now, std::move(lone.got.status), false);
    progress.lost = true;
  } else if (same && lone.got.bytes > 0) {
    progress.lost = !link_.take(now, lone.bytes.data(), lone.got.bytes, progress.replies);
  }
  (void)digest(now, std::move(progress));
  step_back(lone.parker);
}

}  // namespace holdfast::client
