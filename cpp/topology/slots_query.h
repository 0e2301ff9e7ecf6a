#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

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
  class QueryRequest;

  void report(Report report);

  const Clock& clock_;
  const net::Address address_;
  const Millis command_timeout_;
  const Callback on_report_;
  const std::shared_ptr<client::Connection> connection_;
  std::atomic<bool> sharded_{false};  // its query is answered before the other one
};

}  // namespace holdfast::topology
