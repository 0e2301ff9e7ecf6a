#include "topology/parking.h"

#include <algorithm>
#include <utility>

namespace holdfast::topology {

using client::Line;
using client::Unanswered;

bool Parking::empty() const { return lines_[0].empty() && lines_[1].empty(); }

TimePoint Parking::next_overdue() const {
  return std::min(lines_[0].next_overdue(), lines_[1].next_overdue());
}

void Parking::add(Unanswered unanswered, Traffic traffic) {
  line(traffic).add(std::move(unanswered));
}

void Parking::release(const Find& find, Line::Answers& answers) {
  for (const Traffic traffic : kAll) {
    if (line(traffic).empty()) continue;
    Line waiting = std::exchange(line(traffic), {});
    for (Unanswered& unanswered : waiting.take_all()) {
      const auto connection = find(*unanswered.request, traffic);
      if (!connection) {
        line(traffic).add(std::move(unanswered));
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
