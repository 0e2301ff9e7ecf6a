#pragma once

#include <functional>
#include <memory>

#include "client/request_queue.h"
#include "topology/topology.h"

namespace holdfast::topology {

// Requests without a server at the moment, in the order of their arrival. Not thread-safe.
class DeferredRequests {
 public:
  // The connection for a request; null: none yet.
  using Find = std::function<std::shared_ptr<client::Connection>(const client::Request&, Traffic)>;

  bool empty() const;
  TimePoint next_overdue() const;
  TimePoint next_connect_deadline() const;
  // Sends the requests that have a connection. Those that a closed connection refuses are answered.
  void release(const Find& find, client::RequestQueue::Deliveries& deliveries);

  // Of each kind of traffic.
  client::RequestQueue& line(Traffic traffic) { return lines_[traffic]; }
  auto begin() { return lines_.begin(); }
  auto end() { return lines_.end(); }

 private:
  PerTraffic<client::RequestQueue> lines_;
};

}  // namespace holdfast::topology
