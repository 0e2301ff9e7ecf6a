#include "redis/topology/sentinel_stream.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "redis/resp/command.h"

namespace holdfast::topology {

namespace {

// The commands of a query. The epoch comes first: if a failover happens between the two deliveries,
// the message that follows corrects an old epoch with a new address; the reverse would stay.
constexpr int kAnswers = 3;
constexpr Millis kRefusalBackoff{1000};

template <typename Number>
Number number(std::string_view text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

net::Address address_of(std::string_view host, std::string_view port) {
  net::Address address;
  address.host = host;
  address.port = number<std::uint16_t>(port);
  address.announced = true;
  return address;
}

}  // namespace

SentinelStream::SentinelStream(net::Loop& loop, client::StreamOptions link, std::string service,
                               std::weak_ptr<Listener> listener,
                               client::ReconnectingStream::Open open)
    : loop_(loop),
      service_(std::move(service)),
      address_(link.address),
      listener_(std::move(listener)),
      link_(std::move(link), std::move(open), client::ReconnectingStream::Pushes::kReturned) {}

void SentinelStream::query() {
  {
    const MutexLock lock(mutex_);
    requested_.query = true;
  }
  loop_.drive(shared_from_this());
}

void SentinelStream::close() {
  {
    const MutexLock lock(mutex_);
    requested_.close = true;
  }
  loop_.drive(shared_from_this());
}

net::Interest SentinelStream::step(TimePoint now) {
  Requested requested;
  {
    const MutexLock lock(mutex_);
    requested = requested_;
    requested_.query = false;
  }
  const std::shared_ptr<Listener> listener = listener_.lock();
  if (requested.close || !listener) {
    link_.close();
    net::Interest none;
    none.done = true;
    return none;
  }
  using State = client::ReconnectingStream::State;
  const State before = link_.state();
  const int failures = link_.failures();
  if (before == State::kReady) {
    if (requested.query) send_query(now);
    read(now, *listener);
  } else if (now >= back_off_until_ && link_.advance(now)) {
    out_ = resp::Command({"SUBSCRIBE", "+switch-master", "+promoted-slave", "+sentinel"}).bytes();
    subscribed_ = again_ = false;
    answers_ = 0;
    send_query(now);
  }
  const bool backs_off = link_.state() == State::kBackingOff;
  const bool failed = backs_off && (before != State::kBackingOff || link_.failures() != failures);
  if (failed) listener->on_failed(address_, link_.failure());
  if (link_.state() == State::kReady) (void)link_.write(out_);
  return interest();
}

void SentinelStream::read(TimePoint now, Listener& listener) {
  std::vector<resp::Reply> replies;
  const bool alive = link_.read(now, replies);
  for (const resp::Reply& reply : replies) {
    if (link_.state() == client::ReconnectingStream::State::kReady || !alive)
      take(reply, now, listener);
  }
  const bool reads = link_.state() == client::ReconnectingStream::State::kReady;
  if (reads && !replies.empty()) link_.replied();
  const Millis command_timeout = link_.options().command_timeout;
  if (link_.state() == client::ReconnectingStream::State::kReady && answers_ > 0 &&
      now >= after(queried_, command_timeout)) {
    link_.fail(now,
               Status::unreachable("no reply from " + address_.text() + " within " +
                                   std::to_string(command_timeout.count()) + " ms"),
               true);
  }
}

void SentinelStream::take(const resp::Reply& reply, TimePoint now, Listener& listener) {
  if (reply.is_push()) {
    subscribed_ = subscribed_ || reply.text_at(0) == "subscribe";
    // "mymaster 10.0.0.1 6379 ..." or "slave 10.0.0.2:6379 10.0.0.2 6379 @ mymaster 10.0.0.1 ..."
    const std::string words = " " + std::string(reply.text_at(2)) + " ";
    const bool ours = words.find(" " + service_ + " ") != std::string::npos;
    if (reply.text_at(0) == "message" && ours) send_query(now);
  } else if (!subscribed_) {
    refused("SUBSCRIBE", reply, now);
  } else if (answers_ > 0) {
    answer(reply, now, listener);
  } else if (link_.state() == client::ReconnectingStream::State::kReady) {
    link_.unasked(now, reply);
  }
}

void SentinelStream::send_query(TimePoint now) {
  again_ = answers_ > 0;
  if (again_) return;
  for (const char* what : {"MASTER", "GET-MASTER-ADDR-BY-NAME", "SENTINELS"}) {
    out_ += resp::Command({"SENTINEL", what, service_}).bytes();
  }
  answers_ = kAnswers;
  queried_ = now;
  opinion_ = {};
}

void SentinelStream::answer(const resp::Reply& reply, TimePoint now, Listener& listener) {
  --answers_;
  if (reply.is_error() && reply.text().substr(0, 4) != "ERR ") {
    return refused("SENTINEL", reply, now);
  }
  if (answers_ == 2) {
    opinion_.epoch = number<std::uint64_t>(reply.field("config-epoch"));
  } else if (answers_ == 1) {
    if (reply.size() == 2) opinion_.primary = address_of(reply.text_at(0), reply.text_at(1));
  } else {
    for (std::size_t i = 0; i < reply.size(); ++i) {
      const resp::Reply other = reply.at(i);
      opinion_.others.push_back(address_of(other.field("ip"), other.field("port")));
    }
    listener.on_said(address_, std::exchange(opinion_, {}));
    if (again_) send_query(now);
  }
}

void SentinelStream::refused(const std::string& what, const resp::Reply& reply, TimePoint now) {
  const std::string text(reply.text());
  back_off_until_ = after(now, kRefusalBackoff);
  link_.fail(now,
             Status::server(text.substr(0, text.find(' ')),
                            address_.text() + " refused " + what + ": " + text +
                                "; grant its user the rights that the documentation lists"),
             false);
}

net::Interest SentinelStream::interest() const {
  net::Interest next = link_.interest();
  if (link_.state() == client::ReconnectingStream::State::kBackingOff)
    next.until = std::max(next.until, back_off_until_);
  if (link_.state() != client::ReconnectingStream::State::kReady) return next;
  next.write = next.write || !out_.empty();
  if (answers_ > 0)
    next.until = std::min(next.until, after(queried_, link_.options().command_timeout));
  return next;
}

}  // namespace holdfast::topology
