#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "locks/base/event.h"
#include "locks/lease/keeper.h"
#include "redis/client.h"
#include "redis/net/pollable.h"

namespace holdfast::guard {
class Enrolment;
}

namespace holdfast::engine {

class GuardWatch;

// That a client is guarded: from its making until it is closed. A guard that cannot be had, or that
// ends, is posted once (Event::kUnguarded), and the client goes on without it.
class Guarded {
 public:
  // Whether a guard can run on this system. kInvalid: what is missing.
  static Status possible();
  // The program ends: what its clients still hold is left to the guard.
  static void keep_at_exit();

  struct Client {
    std::string path;  // the guard's executable; empty: no guard is wanted
    std::string id;
  };
  // Null: without a guard.
  static std::unique_ptr<Guarded> begin(const Client& client,
                                        const std::shared_ptr<EventSink>& events, net::Loop& loop);
  ~Guarded();

  // The id of the guard's process; 0 once that has ended, or the client is closed. Outlives this.
  using Pid = std::shared_ptr<const std::atomic<int>>;
  Pid pid() const;

  // For the making of the client's topology, and then with it.
  void prepare(topology::Setup& setup);
  void attach(const std::shared_ptr<topology::Topology>& topology, lease::Keeper& keeper);

 private:
  Guarded(std::shared_ptr<guard::Enrolment> enrolment, std::shared_ptr<GuardWatch> watch,
          net::Loop& loop);

  const std::shared_ptr<guard::Enrolment> enrolment_;
  const std::shared_ptr<GuardWatch> watch_;
  net::Loop& loop_;
};

}  // namespace holdfast::engine
