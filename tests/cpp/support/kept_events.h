#pragma once

#include <utility>
#include <vector>

#include "locks/base/event.h"

namespace holdfast::simulation {

// Keeps what a client reports.
class KeptEvents final : public EventSink {
 public:
  void post(Event event) override { all.push_back(std::move(event)); }
  std::vector<Event> all;
};

}  // namespace holdfast::simulation
