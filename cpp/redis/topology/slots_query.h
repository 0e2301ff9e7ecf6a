#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/base/clock.h"
#include "redis/base/status.h"
#include "redis/client/connection.h"
#include "redis/net/endpoint.h"
#include "redis/resp/reply.h"
#include "redis/topology/slot_map.h"

namespace holdfast::topology {

// The action that an error reply requires.
struct Redirection {
  enum class Kind {
    kNone,   // none: the error is for the sender of the command
    kMoved,  // the slot has moved to another server
    kAsk,    // this key is at another server, which accepts it only behind ASKING
    kStale,  // the cluster, or this server's place in it, has changed
  };
  Kind kind = Kind::kNone;
  Slot slot = 0;
  net::Address address{};  // where kMoved and kAsk lead
};
Redirection redirection(std::string_view error, const net::Address& queried);

// Slots from `first` to `last`, and their servers.
struct SlotRange {
  Slot first = 0;
  Slot last = 0;
  net::Address primary;
  std::vector<net::Address> replicas;
};

// The reply to CLUSTER SLOTS. Not OK for an error reply, for anything else than ranges of slots,
// and if no slot has a server.
Result<std::vector<SlotRange>> read_slots(const resp::Reply& reply, const net::Address& queried);

// Queries one server once for the slots of its cluster, on a separate connection.
class SlotsQuery final : public std::enable_shared_from_this<SlotsQuery> {
 public:
  struct Report {
    Result<std::vector<SlotRange>> ranges;
    bool sharded = false;  // the server knows sharded channels
  };
  // Called once, on any thread, without locks held.
  using Callback = std::function<void(const Report&)>;

  // `link`: without retries, as it queries one server once.
  SlotsQuery(const Clock& clock, net::Loop& loop, const client::StreamOptions& link,
             Callback on_report);

  void start();
  void close(const Status& why) { connection_->close(why); }

 private:
  void report(Report report);

  const Clock& clock_;
  const net::Address address_;
  const Millis command_timeout_;
  const Callback on_report_;
  const std::shared_ptr<client::Connection> connection_;
  std::atomic<bool> sharded_{false};  // its query is answered before the other one
};

// Decides when to query the slots of a cluster, and which server. A refresh follows a failure,
// never a clock. A round queries one server after another, the next one when the last has failed or
// has been silent for a moment; the first answer ends it. Rounds that fail, or bring no change,
// become less frequent. A machine without I/O.
class TopologyRefresh {
 public:
  // Whether to begin() a round.
  bool due(TimePoint now) const { return !querying_ && wanted_ && now >= back_off_until_; }

  void want() { wanted_ = true; }

  // No refresh is needed any more.
  void stop() { wanted_ = false; }

  // A round over a number of candidates.
  void begin(std::size_t candidates);

  // The candidate to query now (0, 1, ...), if any; to be called until it returns none.
  std::optional<std::size_t> next(TimePoint now);

  // One of the servers queried in this round has failed to answer.
  void failed(TimePoint now);

  // A server has answered; `changed`: with changes.
  void answered(bool changed, TimePoint now);

  bool querying() const { return querying_; }
  int failed_rounds() const { return failed_rounds_; }
  TimePoint until() const;  // when the result of next() or due() may change

 private:
  void back_off(bool longer, TimePoint now);

  bool wanted_ = false;
  bool querying_ = false;
  std::size_t candidates_ = 0;
  std::size_t queried_ = 0;
  std::size_t failures_ = 0;
  TimePoint next_at_{};
  TimePoint back_off_until_{};
  Duration backoff_{};
  int failed_rounds_ = 0;
};

// The rounds of queries for the slots of a cluster, as a TopologyRefresh decides. Not thread-safe.
class SlotsRefresh : TopologyRefresh {
 public:
  using Queries = std::vector<std::shared_ptr<SlotsQuery>>;
  // The report of one query of that round.
  using Reported = std::function<void(std::uint64_t round, const SlotsQuery::Report&)>;

  // `link`: how to reach each server, except for its address.
  SlotsRefresh(const Clock& clock, net::Loop& loop, client::StreamOptions link)
      : clock_(clock), loop_(loop), link_(std::move(link)) {}

  using TopologyRefresh::due;
  using TopologyRefresh::stop;
  using TopologyRefresh::until;
  using TopologyRefresh::want;
  // A server is out of reach: what is true then may not be known to the others yet.
  void want_after_trouble(TimePoint now);
  // A round over these servers; each begins with another one.
  void begin(std::vector<net::Address> servers);
  // The queries to be started now.
  Queries next(TimePoint now, const Reported& reported);

  // That round goes on.
  bool awaits(std::uint64_t round) const { return round == round_ && querying(); }
  // A server has answered, `changed`: with changes; `more`: another round is needed. What is left
  // of the round, to be closed.
  Queries answered(bool changed, bool more, TimePoint now);
  // One has not. True: it was the last one of the round, which has failed.
  bool failed(const Status& why, TimePoint now);
  Queries take() { return std::exchange(queries_, {}); }

  // The last failure since a query succeeded.
  const Status& failure() const { return failure_; }
  // It is known at once that there is no server.
  bool refused() const { return failure_.reach() == Reach::kRefused && !querying(); }
  // A server has refused, or too many rounds have failed.
  bool hopeless() const {
    return failure_.code() == Code::kServer || failed_rounds() > link_.retries;
  }

 private:
  const Clock& clock_;
  net::Loop& loop_;
  const client::StreamOptions link_;
  std::uint64_t round_ = 0;
  std::vector<net::Address> servers_;  // the servers of this round
  Queries queries_;
  Status failure_;
  std::uint64_t failed_in_ = 0;  // the round of failure_
  TimePoint troubled_until_{};
};

}  // namespace holdfast::topology
