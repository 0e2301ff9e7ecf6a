#include "topology/slots_query.h"

#include <algorithm>
#include <string>
#include <utility>

#include "client/plain_request.h"

namespace holdfast::topology {

namespace {

client::Connection::Setup once(client::StreamOptions link) {
  link.retries = 0;
  return {std::move(link), client::Connection::Driver::kLoop, {}};
}

}  // namespace

SlotsQuery::SlotsQuery(const Clock& clock, net::Loop& loop, const client::StreamOptions& link,
                       Callback on_report)
    : clock_(clock),
      address_(link.address),
      command_timeout_(link.command_timeout),
      on_report_(std::move(on_report)),
      connection_(std::make_shared<client::Connection>(clock, loop, once(link))) {}

void SlotsQuery::start() {
  const auto send = [this](resp::Command command, client::PlainRequest::Completed completed) {
    const auto query = std::make_shared<client::PlainRequest>(
        std::move(command), resp::ReplyKind::kArray, std::move(completed));
    query->deadline = after(clock_.now(), command_timeout_);
    return connection_->submit(query);
  };
  // The same query as Redisson's.
  using Reply = Result<resp::Reply>;
  const auto self = shared_from_this();
  (void)send({"PUBSUB", "SHARDNUMSUB"}, [self](const Reply& reply, const client::Sent& /*sent*/) {
    self->sharded_ = reply.ok() && !reply.value().is_error();
  });
  const Status closed =
      send({"CLUSTER", "SLOTS"}, [self](const Reply& reply, const client::Sent& /*sent*/) {
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

}  // namespace holdfast::topology
