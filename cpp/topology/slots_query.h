#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "client/connection.h"
#include "topology/cluster_reply.h"

namespace holdfast::topology {

// Queries one server once for the slots of its cluster, on a separate connection.
class SlotsQuery final : public std::enable_shared_from_this<SlotsQuery> {
 public:
  struct Report {
    Result<std::vector<SlotRange>> ranges;
    bool sharded = false;  // the server knows sharded channels
  };
  // Called once, on any thread, without locks held.
  using Callback = std::function<void(const Report&)>;

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

}  // namespace holdfast::topology
