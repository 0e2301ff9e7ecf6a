#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/types.h"
#include "client/connection.h"
#include "script/writer.h"
#include "topology/topology.h"

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

// The owner of a grant that replicas have to acknowledge.
class AckListener {
 public:
  virtual ~AckListener() = default;
  virtual std::string_view granted_key() const = 0;
  // Appends a command that writes the grant once more, and never restores it. Called like
  // Request::encode(). And whether the grant is there, by the reply, which is no error.
  virtual void write_again(script::Writer& out) const = 0;
  virtual bool written_again(const resp::Reply& reply) const = 0;
  // The time for the replicas.
  virtual Millis longest_wait() const = 0;
  // Any thread, once for each confirm() and each probe(), without locks held.
  virtual void confirmed(Acknowledgement outcome) = 0;
};
using AckListenerPtr = std::shared_ptr<AckListener>;

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

  // Any thread, with any lock of the listener's held. Not OK when the client is closed: then
  // nothing happens and confirmed() is not called.
  Status confirm(AckListenerPtr listener);

  // The server of this key is known to have WAIT. Otherwise probe() checks it.
  bool probed(std::string_view key) const;
  Status probe(AckListenerPtr listener);

  // The longest wait for replicas, for a grant with this lease.
  Millis longest_wait(Millis lease) const;

 private:
  class Write;
  class Wait;
  class Probe;
  using ConnectionPtr = std::shared_ptr<client::Connection>;
  using WritePtr = std::shared_ptr<Write>;

  struct Item {
    AckListenerPtr listener;
    TimePoint deadline;
  };
  struct Queue {
    std::vector<Item> waiting;
    bool busy = false;  // a round is under way
    bool probed = false;
  };

  using Outcomes = std::vector<std::pair<AckListenerPtr, Acknowledgement>>;

  ConnectionPtr route(std::string_view key) const;
  void answered(const Wait& wait, const Result<resp::Reply>& reply, const client::Sent& sent)
      HOLDFAST_EXCLUDES(mutex_);
  void answered_probe(const Probe& probe, const Result<resp::Reply>& reply)
      HOLDFAST_EXCLUDES(mutex_);
  // A round is over (null: a single write): starts the next one; grants without time left are
  // `due`.
  void next_round(const ConnectionPtr& connection, std::vector<Item> again, Outcomes& due)
      HOLDFAST_EXCLUDES(mutex_);

  // Unset: it has to be sent again.
  std::optional<Acknowledgement> judge_write(const Item& item, const Result<resp::Reply>& reply,
                                             const std::string& key) const;
  Acknowledgement judge_wait(const Result<resp::Reply>& reply, std::string_view key,
                             Millis wait_time) const;

  // With the lock held.
  Status add(const ConnectionPtr& connection, Item item) HOLDFAST_REQUIRES(mutex_);
  Status begin_round(const ConnectionPtr& connection, Queue& queue) HOLDFAST_REQUIRES(mutex_);

  const Clock& clock_;
  const std::shared_ptr<topology::Topology> topology_;
  const ReplicationPolicy policy_;

  mutable Mutex mutex_;
  std::unordered_map<const client::Connection*, Queue> queues_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::sync
