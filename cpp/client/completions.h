#pragma once

#include <vector>

#include "client/connection_setup.h"
#include "client/request_queue.h"

namespace holdfast::client {

// What a Connection has to pass on, found with its lock held and called without it.
struct Completions {
  RequestQueue::Deliveries deliveries;
  std::vector<InFlightRequest> leavers;  // requests that another server answers
  Changes changes;                       // see ConnectionSetup::on_changes
  bool lost = false;                     // see ConnectionSetup::on_lost
  bool failed = false;                   // see ConnectionSetup::on_failed

  // Without any lock.
  void run(const ConnectionSetup& setup);
};

}  // namespace holdfast::client
