#include "redis/client/subscription_stream.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "redis/resp/reply.h"

namespace holdfast::client {

namespace {

// A command, and how its confirmation calls it.
bool same_word(std::string_view command, std::string_view kind) {
  const auto same = [](char a, char b) { return a == std::toupper(static_cast<unsigned char>(b)); };
  return std::equal(command.begin(), command.end(), kind.begin(), kind.end(), same);
}

bool is_confirmation(std::string_view kind) {
  constexpr std::array<std::string_view, 4> kKinds{"subscribe", "unsubscribe", "ssubscribe",
                                                   "sunsubscribe"};
  return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

// Until a channel is asked for again that a server refused for a moment.
constexpr Millis kRefusedPause{50};

constexpr std::string_view kAuth = "AUTH";

}  // namespace

SubscriptionStream::SubscriptionStream(const Clock& clock, StreamOptions options,
                                       ReconnectingStream::Open open)
    : clock_(clock),
      link_(std::move(options), std::move(open), ReconnectingStream::Pushes::kReturned) {}

void SubscriptionStream::subscribe(const std::string& channel) {
  channels_.insert(channel);
  say(true, channel);
}

void SubscriptionStream::unsubscribe(const std::string& channel) {
  if (channels_.erase(channel) == 0) return;
  forget_ways(channel);
  say(false, channel);
}

void SubscriptionStream::move(TimePoint now, Result<net::Address> to) {
  link_.move(std::move(to));
  down_since_ = kNever;
  forget_stream(now);
}

// Without channels: a thread may have found something to read before, and would connect again.
void SubscriptionStream::close() {
  channels_.clear();
  link_.close();
  down_since_ = kNever;
}

void SubscriptionStream::advance(TimePoint now, Sink& sink) {
  const bool ready = link_.state() == ReconnectingStream::State::kReady;
  if (!ready && !channels_.empty() && down_since_ == kNever) down_since_ = now;
  if (ready) {
    read(now, sink);
  } else if (!channels_.empty()) {
    const int failures = link_.failures();
    if (link_.advance(now)) {
      last_read_ = now;
      for (const std::string& channel : channels_) say(true, channel);
    }
    if (link_.failures() > failures) sink.on_failed();
  }
  for (auto& [channel, refusal] : refusals_) {
    if (now < refusal.again) continue;
    refusal.again = kNever;
    say(true, channel);
  }
  if (link_.state() == ReconnectingStream::State::kReady) (void)link_.write(out_);
  judge(now, sink);
}

void SubscriptionStream::read(TimePoint now, Sink& sink) {
  std::vector<resp::Reply> replies;
  const bool alive = link_.read(now, replies);
  if (!replies.empty()) {
    last_read_ = now;
    down_since_ = kNever;
  }
  bool makes_sense = true;
  for (const resp::Reply& reply : replies) {
    makes_sense = take(reply, sink);
    if (makes_sense) link_.replied();
    if (!makes_sense && alive) link_.unasked(now, reply);
    if (!makes_sense) break;
  }
  if (!makes_sense || !alive) lost(now, sink);
}

void SubscriptionStream::say(bool subscribe, const std::string& channel) {
  if (link_.state() != ReconnectingStream::State::kReady) return;  // said when it is
  if (awaited_.empty()) last_read_ = clock_.now();
  if (mode_ != PubSub::kSharded) send(subscribe ? "SUBSCRIBE" : "UNSUBSCRIBE", channel);
  if (mode_ != PubSub::kClassic) send(subscribe ? "SSUBSCRIBE" : "SUNSUBSCRIBE", channel);
}

void SubscriptionStream::send(std::string_view command, const std::string& channel) {
  out_ += resp::Command({command, channel}).bytes();
  awaited_.push_back({command, channel, clock_.now()});
  link_.options().stats->add(Stats::Counter::kCommands);
}

void SubscriptionStream::forget_ways(const std::string& channel) {
  refusals_.erase(channel);
  for (const char* way : {"subscribe", "ssubscribe"}) subscribed_.erase({way, channel});
}

// By the server's doing; of two subscriptions, one may be left.
void SubscriptionStream::end(const std::string& channel) {
  channels_.erase(channel);
  forget_ways(channel);
  if (mode_ == PubSub::kBoth) say(false, channel);
}

// False: it is neither a message, nor a reply to what has been asked.
bool SubscriptionStream::take(const resp::Reply& reply, Sink& sink) {
  if (!awaited_.empty() && awaited_.front().command == kAuth && !reply.is_push()) {
    awaited_.pop_front();
    if (reply.is_error()) login_->refused(login_refused(link_.options().address, reply.text()));
    return true;
  }
  if (reply.is_error()) return refused(std::string(reply.text()), sink);
  if (!reply.is_array() || reply.size() < 3) return reply.is_push();
  const std::string_view kind = reply.text_at(0);
  const std::string channel(reply.text_at(1));
  if (kind == "message" || kind == "smessage") {
    sink.on_message(channel, reply.text_at(2));
  } else if (is_confirmation(kind)) {
    confirmed(kind, channel, sink);
  } else {
    return reply.is_push();
  }
  return true;
}

// False: nothing was asked.
bool SubscriptionStream::refused(const std::string& text, Sink& sink) {
  // An error may name a slot that has moved: that the move has ended its subscriptions looks like
  // the reply to an UNSUBSCRIBE under way, whose own reply this may be.
  if (awaited_.empty()) return mode_ != PubSub::kClassic && text.substr(0, 6) == "MOVED ";
  const Awaited asked = std::move(awaited_.front());
  awaited_.pop_front();
  const std::string& channel = asked.channel;
  // A user who may not leave a channel goes on hearing it, whether it is wanted again or not.
  if (asked.leaves() || channels_.count(channel) == 0) return true;
  const auto& signs = link_.options().signs;
  if (signs && signs->is_sign(text)) (void)signs->report();
  const std::string word = text.substr(0, text.find(' '));
  if (resp::passes_there(word)) {  // then it stays wanted, and is asked for again soon
    const TimePoint now = clock_.now();
    Refusal& refusal = refusals_.insert({channel, {now, now}}).first->second;
    if (now < after(refusal.since, link_.options().command_timeout)) {
      refusal.again = after(now, kRefusedPause);
      return true;
    }
  }
  end(channel);
  const char* hint = word == "NOPERM"
                         ? "; waiting needs the rights to subscribe and to the channel "
                           "(a spin lock needs neither)"
                         : "";
  const Status why =
      Status::server(word, link_.options().address.text() + " refused to subscribe to '" + channel +
                               "': " + text + hint);
  if (!sink.on_redirected(channel, text)) sink.on_refused(channel, why);
  return true;
}

void SubscriptionStream::confirmed(std::string_view kind, const std::string& channel, Sink& sink) {
  TimePoint when = TimePoint::min();
  const bool asked = !awaited_.empty() && awaited_.front().channel == channel &&
                     same_word(awaited_.front().command, kind);
  if (asked) {
    when = awaited_.front().requested;
    awaited_.pop_front();
  }
  if (channels_.count(channel) == 0) return;
  if (kind == "subscribe" || kind == "ssubscribe") {
    // A subscription that is still to be ended ends before the next one begins.
    const bool is_left = std::any_of(awaited_.begin(), awaited_.end(), [&](const Awaited& next) {
      return next.channel == channel && next.leaves();
    });
    if (is_left) return;
    refusals_.erase(channel);
    const bool fresh = subscribed_.insert({std::string(kind), channel}).second;
    sink.on_subscribed(channel, when, fresh);
  } else if (!asked) {
    end(channel);
    sink.on_redirected(channel, {});
  }
}

void SubscriptionStream::reauthenticate(TimePoint now, LoginPtr login) {
  if (link_.state() != ReconnectingStream::State::kReady || !link_.greeting().resp3()) return;
  const auto auth = auth_command(login->who);
  if (!auth) return;
  login_ = std::move(login);
  if (awaited_.empty()) last_read_ = now;
  out_ += auth->bytes();
  awaited_.push_back({kAuth, {}, now});
  link_.options().stats->add(Stats::Counter::kCommands);
}

void SubscriptionStream::lost(TimePoint now, Sink& sink) {
  forget_stream(now);
  sink.on_lost();
}

void SubscriptionStream::forget_stream(TimePoint now) {
  awaited_.clear();
  subscribed_.clear();
  refusals_.clear();
  out_.clear();
  if (!channels_.empty()) down_since_ = std::min(down_since_, now);
}

void SubscriptionStream::judge(TimePoint now, Sink& sink) {
  const Millis command_timeout = link_.options().command_timeout;
  const bool silent = !awaited_.empty() && now >= after(last_read_, command_timeout);
  if (silent && link_.state() == ReconnectingStream::State::kReady) {
    link_.fail(now, Status::unreachable("no reply from " + link_.options().address.text()), true);
    lost(now, sink);
  }
  if (channels_.empty()) {
    down_since_ = kNever;
    return;
  }
  const bool down_too_long = down_since_ != kNever && now >= after(down_since_, command_timeout);
  if (!link_.hopeless() && !down_too_long) return;
  down_since_ = now;
  sink.on_unreachable(channels_, link_.failure());
}

net::Interest SubscriptionStream::interest() const {
  const Millis command_timeout = link_.options().command_timeout;
  net::Interest next = link_.interest();
  next.write = next.write || !out_.empty();
  if (down_since_ != kNever) next.until = std::min(next.until, after(down_since_, command_timeout));
  if (!awaited_.empty()) next.until = std::min(next.until, after(last_read_, command_timeout));
  for (const auto& [channel, refusal] : refusals_) next.until = std::min(next.until, refusal.again);
  return next;
}

}  // namespace holdfast::client
