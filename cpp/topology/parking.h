#pragma once

#include <functional>
#include <memory>

#include "client/line.h"
#include "topology/topology.h"

namespace holdfast::topology {

// Requests that nobody answers for at the moment, in the order in which they came. Not thread-safe.
class Parking {
 public:
  // Where a request may go now; null: nowhere yet.
  using Find = std::function<std::shared_ptr<client::Connection>(const client::Request&, Traffic)>;

  bool empty() const;
  TimePoint next_overdue() const;
  void add(client::Unanswered unanswered, Traffic traffic);

  // Sends on what can go. Those of a closed connection, which takes nothing, are answered.
  void release(const Find& find, client::Line::Answers& answers);

  void drop_overdue(TimePoint now, const Status& why, client::Line::Answers& answers);
  // See Line::fail().
  void fail(const Status& why, bool persistent_too, client::Line::Answers& answers);

 private:
  PerTraffic<client::Line> lines_;
};

}  // namespace holdfast::topology
