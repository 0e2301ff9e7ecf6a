#include "redis/client/reconnecting_stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "redis/client/backoff.h"
#include "redis/client/login.h"
#include "redis/net/endpoint.h"
#include "redis/resp/reply.h"

namespace holdfast::client {

namespace {

// In a TLS handshake, before the server is suspected of speaking none; and for it to show that.
constexpr Millis kSilence{400};
constexpr Millis kProbe{300};

}  // namespace

ReconnectingStream::ReconnectingStream(StreamOptions options, Open open, Pushes pushes)
    : options_(std::move(options)), open_(std::move(open)), tracking_(options_.tracking) {
  options_.given = options_.address;
  options_.pushes = pushes == Pushes::kReturned;
  if (!open_) {
    open_ = [](const StreamOptions& o) {
      return net::open_transport(o.address, o.tls, o.command_timeout, o.addresses);
    };
  }
}

bool ReconnectingStream::advance(TimePoint now) {
  const bool backs_off = state_ == State::kBackingOff && now < until_;
  if (backs_off || state_ == State::kReady || state_ == State::kNowhere) return false;
  if (state_ == State::kIdle || state_ == State::kBackingOff) {
    until_ = after(now, options_.connect_timeout);
    preliminaries_.begin(options_);
    state_ = State::kAsking;
  }
  if (state_ == State::kAsking) prepare(now);
  if (state_ == State::kConnecting) connect(now);
  if (state_ == State::kGreeting) exchange_greeting(now);
  if (now >= until_) time_out(now);
  return state_ == State::kReady;
}

void ReconnectingStream::time_out(TimePoint now) {
  const std::string within = options_.address.text() + " within " +
                             std::to_string(options_.connect_timeout.count()) + " ms";
  std::string why;
  if (state_ == State::kAsking) {
    why = std::string("no ") + preliminaries_.missing() + " for " + within +
          "; what blocks the callable that was given for it?";
  } else if (state_ == State::kConnecting || state_ == State::kGreeting) {
    why = "no connection to " + within + "; is a server running and reachable there";
    why += options_.tls.enabled ? ", and does its port speak TLS?" : "?";
  } else {
    return;
  }
  if (state_ == State::kGreeting) tracking_.broken(now);
  fail(now, Status::unreachable(why), true);
}

void ReconnectingStream::connect(TimePoint now) {
  if (probe_) probe(now);
  if (probe_ || state_ != State::kConnecting) return;
  net::IoResult step = transport_->connect();
  interest_ = {transport_->fd(), step.io == net::Io::kWantRead, step.io == net::Io::kWantWrite};
  if (step.io == net::Io::kFailed) return fail(now, std::move(step.status), false);
  if (step.io == net::Io::kDone) {
    greeting_.begin(options_, credentials_, tracking_, now);
    if (!options_.witness) credentials_ = {};
    state_ = State::kGreeting;
    return;
  }
  if (probed_) return;
  if (!transport_->silent()) {
    silent_until_ = kNever;
    return;
  }
  if (silent_until_ == kNever) silent_until_ = after(now, kSilence);
  if (now < silent_until_) return;
  probed_ = true;
  silent_until_ = after(now, kProbe);
  probe_ = std::make_unique<net::PlainTextProbe>(options_.address, options_.command_timeout);
  probe(now);
}

// The handshake waits meanwhile.
void ReconnectingStream::probe(TimePoint now) {
  using Finding = net::PlainTextProbe::Finding;
  const Finding finding = probe_->advance();
  if (finding == Finding::kPlainText) {
    probed_ = false;
    return fail(now, net::PlainTextProbe::failure(options_.address), true);
  }
  if (finding == Finding::kUnknown || now >= silent_until_) {
    probe_.reset();
    silent_until_ = kNever;
  }
}

void ReconnectingStream::prepare(TimePoint now) {
  const Status failed = preliminaries_.take(options_, credentials_);
  if (!failed.ok()) return fail(now, failed.prefixed(options_.given.text() + ": "), false);
  if (preliminaries_.pending()) return;
  transport_ = open_(options_);
  reader_ = std::make_unique<resp::Reader>();
  answers_ = 0;
  state_ = State::kConnecting;
}

void ReconnectingStream::exchange_greeting(TimePoint now) {
  std::array<char, 4096> buffer;
  while (!greeting_.answered()) {
    const bool waits_for_room = write(greeting_.unsent);
    interest_ = {transport_->fd(), true, waits_for_room};
    if (const std::optional<resp::Reply> reply = next_reply(now)) {
      auto failure = greeting_.take(*reply, options_, tracking_, now);
      if (failure) return fail(now, std::move(failure->why), failure->reset);
      continue;
    }
    if (state_ != State::kGreeting) return;
    net::IoResult step = transport_->read(buffer.data(), buffer.size());
    if (step.io == net::Io::kFailed) {
      tracking_.broken(now);
      return fail(now, std::move(step.status), false);
    }
    if (step.io != net::Io::kDone) return;
    reader_->feed(buffer.data(), step.bytes);
  }
  if (const std::optional<resp::Reply> more = next_reply(now)) return unasked(now, *more);
  if (state_ != State::kGreeting) return;
  state_ = State::kReady;
  moment_ = transport_->moment();
  tracking_.ready();
  until_ = backoff_end_ = kNever;
  if (const auto& witness = options_.witness) {
    witness->greeted(options_, std::exchange(credentials_, {}), greeting_.connection());
  }
  if (std::exchange(known_, true)) options_.stats->add(Stats::Counter::kReconnects);
  if (options_.signs && greeting_.role() == Role::kReplica) (void)options_.signs->report();
}

// Every reply of the stream comes by here, whatever it answers.
std::optional<resp::Reply> ReconnectingStream::next_reply(TimePoint now) {
  const bool wants_pushes = options_.pushes && state_ == State::kReady;
  for (;;) {
    Result<std::optional<resp::Reply>> next = reader_->next();
    if (!next.ok()) {
      protocol_error(now, "sent bytes that are " + next.status().message());
      return std::nullopt;
    }
    std::optional<resp::Reply>& reply = next.value();
    if (!reply) return std::nullopt;
    const bool may_refuse = answers_++ == 0 && reply->is_error();
    if (may_refuse && resp::refusal_of_client(reply->text()) != resp::Refusal::kOther) {
      refuse(now, *reply);
      return std::nullopt;
    }
    if (wants_pushes || !reply->is_push()) return std::move(reply);
    tracking_.note(*reply);
  }
}

bool ReconnectingStream::read(TimePoint now, std::vector<resp::Reply>& replies, Wait wait) {
  // Read to exhaustion in large pieces, but return after a few so that the replies do not pile up.
  std::array<char, 16384> buffer;
  more_ = true;
  for (int pieces = 0; pieces < 16 && more_; ++pieces) {
    const bool waits = wait == Wait::kMoment && pieces == 0;
    net::IoResult step = waits ? transport_->await(buffer.data(), buffer.size())
                               : transport_->read(buffer.data(), buffer.size());
    if (step.io == net::Io::kFailed) {
      fail(now, std::move(step.status), false);
      return false;
    }
    more_ = step.bytes == buffer.size();
    if (step.io != net::Io::kDone) break;
    if (!take(now, buffer.data(), step.bytes, replies)) return false;
  }
  return true;
}

bool ReconnectingStream::take(TimePoint now, const char* bytes, std::size_t size,
                              std::vector<resp::Reply>& replies) {
  reader_->feed(bytes, size);
  do {
    std::optional<resp::Reply> next = next_reply(now);
    if (!next) break;
    replies.push_back(std::move(*next));
  } while (!reader_->at_end());
  return state_ == State::kReady;
}

bool ReconnectingStream::write(std::string& bytes) {
  while (!bytes.empty()) {
    const net::IoResult step = transport_->write(bytes.data(), bytes.size());
    if (step.io != net::Io::kDone) return step.io == net::Io::kWantWrite;
    bytes.erase(0, step.bytes);
  }
  return false;
}

void ReconnectingStream::fail(TimePoint now, Status why, bool reset) {
  if (state_ == State::kGreeting) greeting_.broken();
  const bool hung_up =
      !reset && answers_ == 0 && (state_ == State::kGreeting || state_ == State::kReady);
  if (hung_up) why = Status::unreachable(why.message(), Reach::kRefused);
  leave(reset);
  failure_ = options_.service.empty() ? std::move(why)
                                      : why.prefixed("service '" + options_.service + "': ");
  state_ = State::kBackingOff;
  ++failed_attempts_;
  until_ = std::exchange(backoff_end_, kNever);
  if (until_ != kNever) return;
  ++failures_;
  until_ = after(now, backoff_after(failures_, now));
}

void ReconnectingStream::protocol_error(TimePoint now, const std::string& what) {
  const Status why = Status::unreachable(options_.address.text() + " " + what);
  options_.stats->add(Stats::Counter::kProtocolErrors);
  if (options_.reports) options_.reports->report({Report::Kind::kProtocolError, {}, why.message()});
  if (transport_) fail(now, why, true);  // else it has ended besides
}

void ReconnectingStream::refuse(TimePoint now, const resp::Reply& error) {
  greeting_.excuse();
  fail(now, refused_at_once(options_.address.text(), error.text()), false);
}

void ReconnectingStream::unasked(TimePoint now, const resp::Reply& reply) {
  if (answers_ == 1 && reply.is_error()) return refuse(now, reply);
  protocol_error(now, "sent a reply that no command asked for");
}

void ReconnectingStream::hurry(TimePoint now) {
  if (state_ != State::kBackingOff || now >= until_) return;
  backoff_end_ = std::exchange(until_, now);
}

void ReconnectingStream::move(Result<net::Address> to) {
  leave(true);
  state_ = State::kIdle;
  close();
  if (to.ok()) {
    options_.address = options_.given = std::move(to.value());
    failure_ = {};
  } else {
    failure_ = to.status();
    state_ = State::kNowhere;
  }
}

void ReconnectingStream::leave(bool reset) {
  if (options_.witness && transport_) options_.witness->left();
  if (transport_ && reset) transport_->abort();
  preliminaries_ = {};
  probe_.reset();
  silent_until_ = kNever;
  transport_.reset();
  reader_.reset();
  moment_ = Millis(0);
  more_ = false;
}

void ReconnectingStream::close() {
  if (state_ == State::kNowhere) return;
  leave(false);
  state_ = State::kIdle;
  failures_ = 0;
  until_ = backoff_end_ = kNever;
}

net::Interest ReconnectingStream::interest() const {
  if (preliminaries_.pending()) return {preliminaries_.fd(), true, false, until_};
  if (!transport_) return {-1, false, false, until_};
  // Bytes that TLS has decrypted already do not show at the descriptor.
  if (state_ == State::kReady) return {transport_->fd(), true, false, more_ ? TimePoint{} : kNever};
  net::Interest interest = probe_ ? probe_->interest() : interest_;
  interest.until = std::min({until_, silent_until_, interest.until, transport_->due()});
  return interest;
}

bool ReconnectingStream::login_refused() const {
  const bool by_server = failure_.code() == Code::kServer;
  return by_server && resp::pace_of_release(failure_.word()) == resp::Pace::kEachSecond;
}

bool ReconnectingStream::hopeless() const {
  const bool down = state_ == State::kBackingOff || state_ == State::kNowhere;
  return down && (refused() || failures_ > options_.retries);
}

std::shared_ptr<net::Transport> ReconnectingStream::transport() const {
  return state_ == State::kReady ? transport_ : nullptr;
}

void Preliminaries::begin(const StreamOptions& options) {
  *this = {};
  const bool maps = options.address_map && options.given.announced;
  if (maps) address_ = options.address_map->request(options.given);
  if (options.credential_source) credentials_ = options.credential_source();
}

Status Preliminaries::take(StreamOptions& options, net::Credentials& credentials) {
  if (address_ && address_->done()) {
    Result<net::Address> reachable = std::exchange(address_, nullptr)->take();
    if (!reachable.ok()) return reachable.status();
    options.address = std::move(reachable.value());
    options.address_map->note(options.given, options.address);
  }
  if (credentials_ && credentials_->done()) {
    Result<net::Credentials> who = std::exchange(credentials_, nullptr)->take();
    if (!who.ok()) return who.status();
    credentials = std::move(who.value());
  } else if (!options.credential_source) {
    credentials = options.credentials;
  }
  return {};
}

}  // namespace holdfast::client
