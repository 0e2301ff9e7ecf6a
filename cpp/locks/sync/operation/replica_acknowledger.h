#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "locks/base/types.h"
#include "locks/sync/recipes/recipe.h"
#include "redis/base/mutex.h"
#include "redis/client.h"

namespace holdfast::sync {

// The result of a confirmation or a probe.
struct Acknowledgement {
  enum class Kind {
    kConfirmed,
    kGone,     // the server no longer has the grant
    kRefused,  // too few replicas, or a temporary error of the server: `why`
    kFailed,   // `why`
  };
  Kind kind = Kind::kConfirmed;
  Status why{};
};

// A grant that replicas have to acknowledge.
struct UnconfirmedGrant {
  LockName name;
  const TakingRecipe* recipe;
  std::string owner;  // its field
  Millis lease;
  TimePoint latest;  // its caller's (CallersTime)
};
// Any thread, once for each confirm() and each probe(), without locks held.
using Confirmed = std::function<void(Acknowledgement)>;

// How many replicas have to acknowledge a grant.
struct ReplicationPolicy {
  int replicas = 1;
  Millis command_timeout{5000};
};

// Has grants confirmed by replicas, for one client, by WAIT.
//
// WAIT blocks its connection, and waits for what was written there: so each grant is written once
// more (its lease is renewed) on a connection for confirmations. The replication stream is one, so
// a replica that has this write has the grant. There is one round at a time on such a connection:
// grants that arrive during a WAIT share the next round, with one WAIT for all.
// The reply to a WAIT counts only if the write went over the same stream: on a new stream there is
// no write to wait for, and all replicas "have it". A write that a cluster redirects once (ASK) is
// followed by a separate WAIT; after a lasting move (MOVED) it is sent again.
class ReplicaAcknowledger final : public std::enable_shared_from_this<ReplicaAcknowledger> {
 public:
  ReplicaAcknowledger(const Clock& clock, std::shared_ptr<topology::Topology> topology,
                      ReplicationPolicy acquire_options);

  // Any thread, with any lock of the caller's held. Not OK when the client is closed: then nothing
  // happens and `confirmed` is not called.
  Status confirm(UnconfirmedGrant grant, Confirmed confirmed);

  // The server of this key is known to have WAIT. Otherwise probe() checks it.
  bool probed(std::string_view key) const;
  Status probe(std::string_view key, const Confirmed& confirmed);

 private:
  class Write;
  class Wait;
  using ConnectionPtr = std::shared_ptr<client::Connection>;
  using WritePtr = std::shared_ptr<Write>;

  struct Item {
    UnconfirmedGrant grant;
    Confirmed confirmed;
    TimePoint deadline;
  };
  struct Queue {
    std::vector<Item> waiting;
    bool busy = false;  // a round is under way
    bool probed = false;
  };

  ConnectionPtr route(std::string_view key) const;
  void answered(const Wait& wait, const Result<resp::Reply>& reply, const client::Sent& sent)
      HOLDFAST_EXCLUDES(mutex_);
  // To share the next round of its server's connection. Not OK: that is closed.
  Status add(Item item) HOLDFAST_EXCLUDES(mutex_);

  Acknowledgement judge_wait(const Result<resp::Reply>& reply, std::string_view key,
                             Millis wait_time) const;

  // With the lock held.
  Queue& queue_of(const ConnectionPtr& connection) HOLDFAST_REQUIRES(mutex_);
  Status begin_round(const ConnectionPtr& connection, Queue& queue) HOLDFAST_REQUIRES(mutex_);

  const Clock& clock_;
  const std::shared_ptr<topology::Topology> topology_;
  const ReplicationPolicy policy_;

  mutable Mutex mutex_;
  // The queue of each connection that has been used, until a later one finds it gone. By its
  // control block, as another connection may have its address later.
  std::map<std::weak_ptr<client::Connection>, Queue, std::owner_less<>> queues_
      HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::sync
