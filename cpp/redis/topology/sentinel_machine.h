#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "redis/base/clock.h"
#include "redis/base/status.h"
#include "redis/net/endpoint.h"

namespace holdfast::topology {

// The reply of one sentinel about a service.
struct Opinion {
  std::optional<net::Address> primary;  // unset: it does not know the service
  std::uint64_t epoch = 0;              // configuration epoch: each failover has a greater one
  std::vector<net::Address> others;     // the sentinels beside it
};

// Determines the primary of a service from the replies of its sentinels: a machine without I/O.
//
// The reply with the greatest epoch counts: no failover gets an epoch without a
// majority of the sentinels, and the sentinels copy it from each other. Among equal epochs, the
// address counts that most sentinels name. So a sentinel that was cut off, and still names the old
// primary, is overruled by a single one with a newer epoch, and epochs older than the accepted one
// are ignored. Only when the primary is in *doubt* (no stream to it, or it is not a primary), all
// sentinels are queried again, and only these replies count, with any epoch: sentinels that were
// set up again begin with epoch 0.
// When all sentinels are queried (at the beginning, and in doubt), the wait ends 100 ms after the
// first answer. While no sentinel deliveries, the known primary stays.
//
// Not thread-safe.
class SentinelMachine {
 public:
  // The actions, in this order.
  struct Actions {
    std::vector<net::Address> leave;  // sentinels that are no longer listed
    std::vector<net::Address> watch;  // sentinels to connect to, query and subscribe to
    bool query = false;               // query all connected sentinels again
    // The new primary; or that none is known at the moment, and why.
    std::optional<Result<net::Address>> move;
  };

  // `listed`: the sentinels that the URL names. `known`: the primary so far, of an unknown epoch.
  SentinelMachine(std::string service, std::vector<net::Address> listed,
                  std::optional<net::Address> known = {});

  Actions start();
  Actions said(const net::Address& address, Opinion opinion, TimePoint now);
  // No stream to the sentinel, or it refused: its stream tries again.
  Actions failed(const net::Address& address, Status why, TimePoint now);
  // The known primary cannot be reached, or is no primary.
  Actions doubt();
  // The moment of until() has come.
  Actions tick(TimePoint now);
  TimePoint until() const;

  // The service and its primary, for messages.
  std::string text() const;

 private:
  enum class Voice { kAwaited, kSaid, kFailed };
  struct Sentinel {
    net::Address address;
    bool listed;
    Voice voice = Voice::kAwaited;
    Opinion opinion{};
    Status failure{};
  };

  Sentinel* find(const net::Address& address);
  void prune(Actions& actions);
  bool named(const net::Address& address) const;
  void judge(TimePoint now, Actions& actions);
  const Opinion* best() const;
  int votes(const Opinion& opinion) const;
  bool any(Voice voice) const;
  Status failure() const;

  const std::string service_;
  std::vector<Sentinel> sentinels_;
  std::optional<net::Address> primary_;
  std::uint64_t epoch_ = 0;
  bool doubt_ = false;
  TimePoint first_said_ = kNever;  // since all were queried
};

}  // namespace holdfast::topology
