#include "topology/parking.h"

#include <algorithm>
#include <utility>

namespace holdfast::topology {

using client::Line;
using client::Unanswered;

bool Parking::empty() const {
  return std::all_of(lines_.begin(), lines_.end(), [](const Line& line) { return line.empty(); });
}

TimePoint Parking::next_overdue() const {
  TimePoint next = kNever;
  for (const Line& line : lines_) next = std::min(next, line.next_overdue());
  return next;
}

void Parking::add(Unanswered unanswered, Traffic traffic) {
  lines_[traffic].add(std::move(unanswered));
}

void Parking::release(const Find& find, Line::Answers& answers) {
  for (const Traffic traffic : kAllTraffic) {
    if (lines_[traffic].empty()) continue;
    Line waiting = std::exchange(lines_[traffic], {});
    for (Unanswered& unanswered : waiting.take_all()) {
      const auto connection = find(*unanswered.request, traffic);
      if (!connection) {
        lines_[traffic].add(std::move(unanswered));
        continue;
      }
      Unanswered copy = unanswered;
      if (Status closed = connection->resubmit(std::move(copy)); !closed.ok()) {
        answers.push_back({std::move(unanswered), std::move(closed)});
      }
    }
  }
}

void Parking::drop_overdue(TimePoint now, const Status& why, Line::Answers& answers) {
  for (Line& line : lines_) line.drop_overdue(now, why, answers);
}

void Parking::fail(const Status& why, bool persistent_too, Line::Answers& answers) {
  for (Line& line : lines_) line.fail(why, persistent_too, answers);
}

}  // namespace holdfast::topology
