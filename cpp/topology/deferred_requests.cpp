#include "topology/deferred_requests.h"

#include <algorithm>
#include <utility>

namespace holdfast::topology {

using client::InFlightRequest;
using client::RequestQueue;

bool DeferredRequests::empty() const {
  return std::all_of(lines_.begin(), lines_.end(),
                     [](const RequestQueue& line) { return line.empty(); });
}

TimePoint DeferredRequests::next_overdue() const {
  TimePoint next = kNever;
  for (const RequestQueue& line : lines_) next = std::min(next, line.next_overdue());
  return next;
}

TimePoint DeferredRequests::next_connect_deadline() const {
  TimePoint next = kNever;
  for (const RequestQueue& line : lines_) next = std::min(next, line.next_connect_deadline());
  return next;
}

void DeferredRequests::release(const Find& find, RequestQueue::Deliveries& deliveries) {
  for (const Traffic traffic : kAllTraffic) {
    if (lines_[traffic].empty()) continue;
    RequestQueue waiting = std::exchange(lines_[traffic], {});
    for (InFlightRequest& unanswered : waiting.take_all()) {
      const auto connection = find(*unanswered.request, traffic);
      if (!connection) {
        lines_[traffic].add(std::move(unanswered));
        continue;
      }
      InFlightRequest copy = unanswered;
      if (Status closed = connection->resubmit(std::move(copy)); !closed.ok()) {
        deliveries.push_back({std::move(unanswered), std::move(closed)});
      }
    }
  }
}

}  // namespace holdfast::topology
