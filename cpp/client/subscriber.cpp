#include "client/subscriber.h"

#include <algorithm>
#include <utility>

namespace holdfast::client {

Subscriber::Subscriber(const Clock& clock, net::Loop& loop, LinkOptions options,
                       std::weak_ptr<Sink> sink, Link::Open open)
    : clock_(clock),
      loop_(loop),
      sink_(std::move(sink)),
      link_(std::move(options), std::move(open)) {}

void Subscriber::subscribe(const std::string& channel) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    subscribes_.push_back(channel);
  }
  loop_.drive(shared_from_this());
}

void Subscriber::release(const std::string& channel, Duration linger) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    releases_.push_back({after(clock_.now(), linger), channel});
  }
  loop_.drive(shared_from_this());
}

void Subscriber::move(Result<net::Address> to) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    move_ = std::move(to);
  }
  loop_.drive(shared_from_this());
}

void Subscriber::close() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
  }
  loop_.drive(shared_from_this());
}

net::Interest Subscriber::step(TimePoint now) {
  const std::shared_ptr<Sink> sink = sink_.lock();
  if (!obey_move(now) || !sink) {
    link_.close();
    net::Interest none;
    none.done = true;
    return none;
  }
  take_orders(now, *sink);
  if (link_.state() == Link::State::kReady) {
    std::vector<resp::Reply> replies;
    const bool alive = link_.read(now, replies);
    if (!replies.empty()) last_read_ = now;
    for (const resp::Reply& reply : replies) take(reply, *sink);
    if (!alive) lost(now, *sink);
  } else if (!channels_.empty() && link_.advance(now)) {
    last_read_ = now;
    down_since_ = kNever;
    for (const std::string& channel : channels_) say(true, channel);
  }
  write();
  judge(now, *sink);
  return interest();
}

bool Subscriber::obey_move(TimePoint now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (move_) {
    link_.move(std::move(*move_));
    move_.reset();
    forget_stream(now);
  }
  return !closed_;
}

void Subscriber::take_orders(TimePoint now, Sink& sink) {
  std::vector<std::string> subscribes;
  std::vector<std::string> releases;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    subscribes.swap(subscribes_);
    const auto due = std::stable_partition(releases_.begin(), releases_.end(),
                                           [now](const Release& r) { return r.at > now; });
    for (auto it = due; it != releases_.end(); ++it) releases.push_back(std::move(it->channel));
    releases_.erase(due, releases_.end());
  }
  for (const std::string& channel : releases) {
    if (channels_.count(channel) == 0 || !sink.on_released(channel)) continue;
    channels_.erase(channel);
    say(false, channel);
  }
  for (const std::string& channel : subscribes) {
    if (channels_.insert(channel).second) say(true, channel);
  }
  const bool needed = link_.state() != Link::State::kReady && !channels_.empty();
  if (needed && down_since_ == kNever) down_since_ = now;
}

void Subscriber::say(bool subscribe, const std::string& channel) {
  if (link_.state() != Link::State::kReady) return;  // said when it is
  if (awaited_.empty()) last_read_ = clock_.now();
  out_ += resp::Command({subscribe ? "SUBSCRIBE" : "UNSUBSCRIBE", channel}).bytes();
  awaited_.push_back({subscribe, channel});
}

void Subscriber::write() {
  while (!out_.empty() && link_.state() == Link::State::kReady) {
    const net::IoResult result = link_.transport()->write(out_.data(), out_.size());
    // A stream that takes no more is found broken by the next read, or by its silence.
    if (result.io != net::Io::kDone) break;
    out_.erase(0, result.bytes);
  }
}

void Subscriber::take(const resp::Reply& reply, Sink& sink) {
  if (reply.is_error()) {
    if (awaited_.empty()) return;
    const Awaited asked = awaited_.front();
    awaited_.pop_front();
    channels_.erase(asked.channel);
    const std::string text(reply.text());
    const std::string word = text.substr(0, text.find(' '));
    const char* hint = word == "NOPERM"
                           ? "; whoever waits needs the rights to subscribe and to the "
                             "channel (or use a spin lock, which does not)"
                           : "";
    sink.on_refused(asked.channel, Status::server(word, link_.options().address.text() +
                                                            " refused to subscribe to '" +
                                                            asked.channel + "': " + text + hint));
    return;
  }
  if (!reply.is_array() || reply.size() < 3) return;
  const std::string_view kind = reply.text_at(0);
  const std::string channel(reply.text_at(1));
  if (kind == "message") {
    sink.on_message(channel, reply.text_at(2));
  } else if (!awaited_.empty()) {
    awaited_.pop_front();
    if (kind == "subscribe" && channels_.count(channel) != 0) sink.on_subscribed(channel);
  }
}

void Subscriber::lost(TimePoint now, Sink& sink) {
  forget_stream(now);
  sink.on_lost();
}

void Subscriber::forget_stream(TimePoint now) {
  awaited_.clear();
  out_.clear();
  if (!channels_.empty()) down_since_ = now;
}

void Subscriber::judge(TimePoint now, Sink& sink) {
  const Millis patience = link_.options().command_timeout;
  const bool silent = !awaited_.empty() && now >= after(last_read_, patience);
  if (silent && link_.state() == Link::State::kReady) {
    link_.fail(now, Status::unreachable("no reply from " + link_.options().address.text()), true);
    lost(now, sink);
  }
  if (channels_.empty()) return;
  const bool down =
      link_.state() == Link::State::kResting || link_.state() == Link::State::kNowhere;
  const bool hopeless = down && (link_.refused() || link_.failures() > link_.options().retries);
  const bool down_too_long = down_since_ != kNever && now >= after(down_since_, patience);
  if (!hopeless && !down_too_long) return;
  down_since_ = now;
  sink.on_unreachable(link_.failure());
}

net::Interest Subscriber::interest() {
  const Millis patience = link_.options().command_timeout;
  net::Interest next = link_.interest();
  next.write = next.write || !out_.empty();
  if (down_since_ != kNever) next.until = std::min(next.until, after(down_since_, patience));
  if (!awaited_.empty()) next.until = std::min(next.until, after(last_read_, patience));
  const std::lock_guard<std::mutex> lock(mutex_);
  // Without channels there is nothing to connect for; a stream that stands is kept.
  const bool idle = link_.state() != Link::State::kReady && channels_.empty();
  if (idle && subscribes_.empty()) {
    link_.close();
    down_since_ = kNever;
    next = {};
    next.done = releases_.empty();
  }
  for (const Release& release : releases_) next.until = std::min(next.until, release.at);
  return next;
}

}  // namespace holdfast::client
