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

// What became of a question to the replicas.
struct Acknowledgement {
  enum class Kind {
    kConfirmed,
    kGone,     // the server does not know the grant any more
    kRefused,  // too few of them, or by a state of the server that passes by itself: `why`
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
  // Appends a command that writes once more what was granted, and never brings it back: it replies
  // 1, or 0 when it is not there any more. Called as Request::encode().
  virtual void write_again(script::Writer& out) const = 0;
  // How long the replicas have.
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

// Has grants confirmed by replicas, for one client: WAIT, for as many as are asked for.
//
// WAIT blocks its connection, and waits for what was written there: so each grant is written once
// more (its lease is renewed) on a connection for confirmations. The replication stream is one, so
// a replica that has this write has the grant. Rounds go over such a connection one at a time: what
// is granted while a WAIT is under way goes into the next round together, with one WAIT for all.
//
// What a WAIT says is believed only when it went over the same stream as the write: on a fresh one
// there is nothing to wait for, and all replicas "have it". A write that a cluster sends on for
// this once (ASK) is followed by a separate WAIT; after a lasting move (MOVED) it is sent again.
class ReplicaAcknowledger final : public std::enable_shared_from_this<ReplicaAcknowledger> {
 public:
  ReplicaAcknowledger(const Clock& clock, std::shared_ptr<topology::Topology> topology,
                      ReplicationPolicy acquire_options);

  // Any thread, with any lock of the listener's held. Not OK when the client is closed: then
  // nothing happens and confirmed() is not called.
  Status confirm(AckListenerPtr listener);

  // The server of this key is known to understand WAIT. Where it is not, probe() asks it.
  bool probed(std::string_view key) const;
  Status probe(AckListenerPtr listener);

  // The longest that replicas are waited for, of a grant with this lease.
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
    bool by_text = false;
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
  // A round is over (null: the way of a single write): the next one; what cannot be asked any more
  // is `due`.
  void go_on(const ConnectionPtr& connection, std::vector<Item> again, Outcomes& due)
      HOLDFAST_EXCLUDES(mutex_);

  // Nothing: it is to be asked again.
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
