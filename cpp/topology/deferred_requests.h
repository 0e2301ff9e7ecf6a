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
  void add(client::InFlightRequest unanswered, Traffic traffic);

  // Sends the requests that have a connection. Those that a closed connection refuses are answered.
  void release(const Find& find, client::RequestQueue::Deliveries& deliveries);

  void drop_overdue(TimePoint now, const Status& why, client::RequestQueue::Deliveries& deliveries);
  // See RequestQueue::drop_connect_overdue() and fail().
  void drop_connect_overdue(TimePoint now, const Status& why,
                            client::RequestQueue::Deliveries& deliveries);
  void fail(const Status& why, bool persistent_too, client::RequestQueue::Deliveries& deliveries);

 private:
  PerTraffic<client::RequestQueue> lines_;
};

}  // namespace holdfast::topology
