#include "redis/client/subscriber.h"

#include <algorithm>
#include <utility>

#include "redis/base/mutex.h"
#include "redis/client/poll_for.h"

namespace holdfast::client {

namespace {

// How long messages may stay unread while a waiter looks for signals.
constexpr Millis kSignalLook{100};

// How long the loop reads for a waiter that is not in wait_for_message().
constexpr Millis kShared{1000};

// Beside the calling thread. That it still waits is looked at last: then its place was counted.
// Under a lock with which subscribe() is called.
bool others_wait(const Subscriber::Sink& sink, const ServeControl& control, TimePoint now) {
  if (sink.has_waiters(1)) return true;
  const bool waits = control.awaits_message(now) || (control.sends && !control.done.load());
  return !waits && sink.has_waiters(0);
}

bool over(const Subscriber::Listener& listener, TimePoint now, TimePoint slice) {
  return !listener.control.awaits_message(now) || now >= slice;
}

}  // namespace

Subscriber::Subscriber(const Clock& clock, net::Loop& loop, StreamOptions options,
                       std::weak_ptr<Sink> sink, ReconnectingStream::Open open)
    : clock_(clock),
      loop_(loop),
      sink_(std::move(sink)),
      stream_(clock, std::move(options), std::move(open)) {}

void Subscriber::set_mode(PubSub mode) {
  const MutexLock lock(mutex_);
  orders_.mode = mode;
}

void Subscriber::subscribe(const std::string& channel) {
  {
    const MutexLock lock(mutex_);
    auto& wishes = orders_.wishes;
    const bool again =
        !wishes.empty() && wishes.back().subscribed && wishes.back().channel == channel;
    if (!again) wishes.push_back({channel, true});
  }
  loop_.drive(shared_from_this());
}

void Subscriber::release(const std::string& channel, Duration linger) {
  const TimePoint at = after(clock_.now(), linger);
  const MutexLock lock(mutex_);
  releases_[channel] = at;
  drive_at(at);
}

void Subscriber::drop(const std::string& channel) {
  {
    const MutexLock lock(mutex_);
    orders_.wishes.push_back({channel, false});
  }
  loop_.drive(shared_from_this());
}

void Subscriber::move(Result<net::Address> to) {
  {
    const MutexLock lock(mutex_);
    orders_.move = std::move(to);
  }
  loop_.drive(shared_from_this());
}

bool Subscriber::reauthenticate(const LoginPtr& login) {
  {
    const MutexLock lock(mutex_);
    if (!watched_) return false;
    orders_.login = login;
  }
  loop_.drive(shared_from_this());
  return true;
}

void Subscriber::close() {
  {
    const MutexLock lock(mutex_);
    orders_.closed = true;
  }
  loop_.drive(shared_from_this());
}

void Subscriber::drive_at(TimePoint at) {
  if (at >= armed_) return;
  armed_ = at;
  loop_.drive_at(shared_from_this(), at);
}

// The loop's part.

net::Interest Subscriber::step(TimePoint now) {
  const std::shared_ptr<Sink> sink = sink_.lock();
  const WakeBatch wakes;
  const MutexLock turn(turn_);
  Orders orders = due_orders(now);
  if (orders.closed || !sink) {
    stream_.close();
    const MutexLock lock(mutex_);
    publish_stream();
    net::Interest none;
    none.done = true;
    return none;
  }
  stream_.set_mode(orders.mode);
  if (orders.move) stream_.move(now, std::move(*orders.move));
  if (orders.login) stream_.reauthenticate(now, std::move(orders.login));
  for (const auto& [channel, subscribed] : orders.wishes) {
    subscribed ? stream_.subscribe(channel) : stream_.unsubscribe(channel);
  }
  // Last: who came and left within one step has its channel left, too; who came back keeps it.
  for (const std::string& channel : orders.releases) {
    if (stream_.has(channel) && sink->on_released(channel)) stream_.unsubscribe(channel);
  }
  stream_.advance(now, *sink);
  find_reader(now, *sink);
  const MutexLock lock(mutex_);
  publish_stream();
  const net::Interest next = interest();
  armed_ = next.until;
  return next;
}

Subscriber::Orders Subscriber::due_orders(TimePoint now) {
  const MutexLock lock(mutex_);
  Orders orders = std::move(orders_);
  orders_ = {};
  orders_.mode = orders.mode;
  orders_.closed = orders.closed;
  for (auto each = releases_.begin(); each != releases_.end();) {
    const auto release = each++;
    if (release->second > now) continue;
    orders.releases.push_back(release->first);
    releases_.erase(release);
  }
  return orders;
}

void Subscriber::publish_stream() {
  std::shared_ptr<net::Transport> stream = stream_.transport();
  if (stream == watched_) return;
  watched_.swap(stream);
  perform(election_.change_stream());
}

net::Interest Subscriber::interest() {
  net::Interest next = stream_.interest();
  if (stream_.idle() && orders_.wishes.empty()) {
    stream_.close();
    next = {};
    next.done = releases_.empty();
  }
  for (const auto& [channel, at] : releases_) next.until = std::min(next.until, at);
  const bool vacant = election_.reader() == Reader::kNone;
  if (vacant) next.until = std::min(next.until, election_.unread_until());
  const bool unread = vacant && !stream_.awaits_replies();
  if (watched_ && (unread || election_.reader() == Reader::kThread)) {
    next.read = false;
    next.hangup = true;
  }
  return next;
}

void Subscriber::perform(const ReaderElection::Action& action) {
  if (action.wake != nullptr) WakeBatch::notify(*action.wake);
  if (action.drive) loop_.drive(shared_from_this());
  if (action.drive_at != kNever) drive_at(action.drive_at);
}

// Where messages have stayed unread for long enough.
void Subscriber::find_reader(TimePoint now, const Sink& sink) {
  {
    const MutexLock lock(mutex_);
    if (!election_.unread_too_long(now)) return;
  }
  const bool wanted = sink.has_waiters(0);  // under a lock with which subscribe() is called
  const MutexLock lock(mutex_);
  perform(election_.tick(now, wanted));
}

// The part of the threads that wait.

void Subscriber::wait_for_message(const Listener& listener, TimePoint slice) {
  ReaderElection::Place self{&listener.parker, &listener.control, &listener.channel};
  MutexLock lock(mutex_);
  for (TimePoint now = clock_.now(); !over(listener, now, slice); now = clock_.now()) {
    const auto [reads, action] = election_.enter(self, watched_ && now >= shared_until_);
    if (reads) {
      perform(action);  // a loop that was reading stops before the next message wakes it
      lock.unlock();
      read(listener, slice);
      end_read(listener);
      lock.lock();
    } else {
      lock.unlock();
      listener.parker.park(clock_, std::min(listener.control.end(), slice));
      lock.lock();
      election_.unlink(self);
    }
  }
}

void Subscriber::read(const Listener& listener, TimePoint slice) {
  for (TimePoint now = clock_.now(); !over(listener, now, slice); now = clock_.now()) {
    std::shared_ptr<net::Transport> stream;
    {
      const MutexLock lock(mutex_);
      if (election_.is_reader(listener.parker)) stream = watched_;
    }
    if (!stream) return;
    const Duration longest = std::min(listener.control.end(), slice) - now;
    if (poll_for({stream->fd(), true}, listener.parker, longest)) read_here(clock_.now());
  }
}

void Subscriber::read_here(TimePoint now) {
  const std::shared_ptr<Sink> sink = sink_.lock();
  if (!sink) return;
  const WakeBatch wakes;
  const MutexLock turn(turn_);
  stream_.advance(now, *sink);
  const MutexLock lock(mutex_);
  publish_stream();
  const net::Interest next = interest();
  const bool for_loop = next.write || next.done || !watched_ || next.until < armed_;
  if (for_loop) loop_.drive(shared_from_this());
}

// Mostly the thread has what it waited for, or will be back soon. Others of its channel need no
// message before it releases: see expect().
void Subscriber::end_read(const Listener& listener) {
  const WakeBatch wakes;
  const TimePoint now = clock_.now();
  const std::shared_ptr<Sink> sink = sink_.lock();
  const bool wanted = sink && others_wait(*sink, listener.control, now);
  const bool is_back_soon = listener.control.awaits_message(now);
  const MutexLock lock(mutex_);
  if (!election_.is_reader(listener.parker)) return;
  if (!wanted && !election_.has_parked()) return election_.leave();
  perform(election_.leave(after(now, is_back_soon ? kSignalLook : ReaderElection::kUnread)));
  if (is_back_soon) return;
  perform(election_.call([&listener](const ReaderElection::Place& other) {
    return !listener.excludes || *other.channel != listener.channel;
  }));
}

void Subscriber::expect() {
  const MutexLock lock(mutex_);
  if (election_.reader() == Reader::kNone) perform(election_.expect(clock_.now()));
}

void Subscriber::listen() {
  const MutexLock lock(mutex_);
  shared_until_ = after(clock_.now(), kShared);
  if (election_.reader() != Reader::kLoop) perform(election_.loop_reads());
}

void Subscriber::catch_up() {
  {
    const MutexLock lock(mutex_);
    if (election_.reader() != Reader::kNone || !watched_) return;
  }
  read_here(clock_.now());
}

}  // namespace holdfast::client
