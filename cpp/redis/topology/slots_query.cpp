#include "redis/topology/slots_query.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "redis/client/request.h"
#include "redis/resp/reply.h"
#include "redis/topology/slots_reply.h"

namespace holdfast::topology {

namespace {

template <typename Number>
std::optional<Number> number(std::string_view text, std::uint32_t below) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value >= below) {
    return std::nullopt;
  }
  return static_cast<Number>(value);
}

std::string_view next_word(std::string_view& text) {
  const std::size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

bool is_known(std::string_view host) { return !host.empty() && host != "?"; }

net::Address address(std::string_view host, std::uint16_t port, const net::Address& queried) {
  net::Address found;
  found.host = is_known(host) ? std::string(host) : queried.host;
  found.port = port;
  found.announced = true;
  return found;
}

// "<slot> <host>:<port>"; the host may be an IPv6 literal, which also contains colons.
Redirection elsewhere(Redirection::Kind kind, std::string_view rest, const net::Address& queried) {
  const auto slot = number<Slot>(next_word(rest), kSlots);
  const std::string_view target = next_word(rest);
  const std::size_t colon = target.rfind(':');
  if (!slot || colon == std::string_view::npos) return {};
  const auto port = number<std::uint16_t>(target.substr(colon + 1), 1U << 16U);
  if (!port || *port == 0) return {};
  return {kind, *slot, address(target.substr(0, colon), *port, queried)};
}

// [host, port, id, [name, value, ...]]: if the host is not known, the list may have an address.
std::optional<net::Address> read_node(const resp::Reply& node, const net::Address& queried) {
  const std::int64_t port = node.integer_at(1);
  if (!node.is_array() || port <= 0 || port > 65535) return std::nullopt;
  std::string_view host = node.text_at(0);
  const resp::Reply more = node.at(3);
  for (std::size_t i = 0; !is_known(host) && i + 1 < more.size(); i += 2) {
    if (more.text_at(i) == "ip") host = more.text_at(i + 1);
  }
  return address(host, static_cast<std::uint16_t>(port), queried);
}

std::optional<SlotRange> read_range(const resp::Reply& entry, const net::Address& queried) {
  const std::int64_t first = entry.integer_at(0);
  const std::int64_t last = entry.integer_at(1);
  if (entry.size() < 3 || first < 0 || last < first || last >= static_cast<int>(kSlots)) {
    return std::nullopt;
  }
  std::optional<net::Address> primary = read_node(entry.at(2), queried);
  if (!primary) return std::nullopt;
  SlotRange range{static_cast<Slot>(first), static_cast<Slot>(last), std::move(*primary), {}};
  for (std::size_t i = 3; i < entry.size(); ++i) {
    if (auto replica = read_node(entry.at(i), queried))
      range.replicas.push_back(std::move(*replica));
  }
  return range;
}

}  // namespace

Redirection redirection(std::string_view error, const net::Address& queried) {
  using Kind = Redirection::Kind;
  const std::string_view word = next_word(error);
  if (word == "MOVED") return elsewhere(Kind::kMoved, error, queried);
  if (word == "ASK") return elsewhere(Kind::kAsk, error, queried);
  if (resp::is_of_old_topology(word)) return {Kind::kStale, 0, {}};
  return {};
}

Result<std::vector<SlotRange>> read_slots(const resp::Reply& reply, const net::Address& queried) {
  if (reply.is_error()) {
    const std::string text(reply.text());
    const bool standalone = text.find("cluster support disabled") != std::string::npos;
    return Status::unreachable(
        queried.text() + " cannot list the slots of the cluster: " + text +
            (standalone ? "; it is a single server: use redis:// or rediss://" : ""),
        standalone ? Reach::kRefused : Reach::kUnknown);
  }
  std::vector<SlotRange> ranges;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    std::optional<SlotRange> range = read_range(reply.at(i), queried);
    if (!range) return Status::unreachable(queried.text() + ": malformed reply to CLUSTER SLOTS");
    ranges.push_back(std::move(*range));
  }
  if (!ranges.empty()) return ranges;
  return Status::unreachable(queried.text() +
                             " lists no server with slots; has the cluster been created?");
}

SlotsQuery::SlotsQuery(const Clock& clock, net::Loop& loop, const client::StreamOptions& link,
                       Callback on_report)
    : clock_(clock),
      address_(link.address),
      command_timeout_(link.command_timeout),
      on_report_(std::move(on_report)),
      connection_(std::make_shared<client::Connection>(
          clock, loop, client::Connection::Setup{link, client::Connection::Driver::kLoop, {}})) {}

void SlotsQuery::start() {
  const auto send = [this](resp::Command command, resp::ReplyKinds replies,
                           client::PlainRequest::Completed completed) {
    const auto query =
        std::make_shared<client::PlainRequest>(std::move(command), replies, std::move(completed));
    query->deadline = after(clock_.now(), command_timeout_);
    return connection_->submit(query);
  };
  // Redisson sends the same query.
  using Reply = Result<resp::Reply>;
  const auto self = shared_from_this();
  (void)send({"PUBSUB", "SHARDNUMSUB"}, resp::ReplyKind::kArray,
             [self](const Reply& reply, const client::Sent& /*sent*/) {
               self->sharded_ = reply.ok() && !reply.value().is_error();
             });
  const Status closed = send(
      {"CLUSTER", "SLOTS"}, kSlotsReply, [self](const Reply& reply, const client::Sent& /*sent*/) {
        self->report({reply.ok() ? read_slots(reply.value(), self->address_) : reply.status()});
      });
  if (!closed.ok()) report({closed});
}

void SlotsQuery::report(Report report) {
  report.sharded = sharded_;
  on_report_(report);
  connection_->close(Status::closed("the query is complete"));
}

namespace {

constexpr Millis kSilence{200};  // after which another server is queried
constexpr Millis kShortestBackoff{20};
constexpr Millis kLongestBackoff{500};

}  // namespace

void TopologyRefresh::begin(std::size_t candidates) {
  querying_ = true;
  wanted_ = false;
  candidates_ = candidates;
  queried_ = failures_ = 0;
  next_at_ = TimePoint{};
}

std::optional<std::size_t> TopologyRefresh::next(TimePoint now) {
  if (!querying_ || queried_ == candidates_) return std::nullopt;
  if (queried_ > failures_ && now < next_at_) return std::nullopt;
  next_at_ = after(now, kSilence);
  return queried_++;
}

void TopologyRefresh::failed(TimePoint now) {
  if (!querying_ || ++failures_ < candidates_) return;
  querying_ = false;
  wanted_ = true;
  ++failed_rounds_;
  back_off(true, now);
}

void TopologyRefresh::answered(bool changed, TimePoint now) {
  querying_ = false;
  failed_rounds_ = 0;
  back_off(!changed, now);
}

void TopologyRefresh::back_off(bool longer, TimePoint now) {
  backoff_ = longer ? std::clamp<Duration>(backoff_ * 2, kShortestBackoff, kLongestBackoff)
                    : kShortestBackoff;
  back_off_until_ = after(now, backoff_);
}

TimePoint TopologyRefresh::until() const {
  if (querying_) return queried_ == candidates_ ? kNever : next_at_;
  return wanted_ ? back_off_until_ : kNever;
}

void SlotsRefresh::want_after_trouble(TimePoint now) {
  // Such a server is tried again within a second or so: its trouble lasts at least that long.
  constexpr Millis kTroubleLasts{1500};
  troubled_until_ = after(now, kTroubleLasts);
  want();
}

void SlotsRefresh::begin(std::vector<net::Address> servers) {
  servers_ = std::move(servers);
  const auto first = static_cast<std::ptrdiff_t>(round_ % servers_.size());
  std::rotate(servers_.begin(), servers_.begin() + first, servers_.end());
  TopologyRefresh::begin(servers_.size());
  ++round_;
  queries_.clear();
}

SlotsRefresh::Queries SlotsRefresh::next(TimePoint now, const Reported& reported) {
  Queries fresh;
  while (const auto place = TopologyRefresh::next(now)) {
    client::StreamOptions link = link_;
    link.retries = 0;
    link.address = servers_[*place];
    const auto on_report = [reported, round = round_](const SlotsQuery::Report& report) {
      reported(round, report);
    };
    fresh.push_back(std::make_shared<SlotsQuery>(clock_, loop_, link, on_report));
    queries_.push_back(fresh.back());
  }
  return fresh;
}

SlotsRefresh::Queries SlotsRefresh::answered(bool changed, bool more, TimePoint now) {
  TopologyRefresh::answered(changed, now);
  failure_ = {};
  if (more || now < troubled_until_) want();
  return take();
}

bool SlotsRefresh::failed(const Status& why, TimePoint now) {
  // A server's words matter more than another's silence.
  const bool refused = failed_in_ == round_ && failure_.code() == Code::kServer;
  if (!refused) failure_ = why;
  failed_in_ = round_;
  TopologyRefresh::failed(now);
  return !querying();
}

}  // namespace holdfast::topology
