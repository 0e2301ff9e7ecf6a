#include "locks/sync/operation/replica_acknowledger.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "locks/sync/operation/callers_time.h"
#include "locks/sync/operation/operation.h"
#include "redis/base/status.h"
#include "redis/client/request.h"

namespace holdfast::sync {

namespace {

using Kind = Acknowledgement::Kind;

// A replica that keeps up answers within milliseconds.
constexpr Millis kLongestWait{1000};

constexpr resp::ReplyKinds kWaitReplies =
    resp::ReplyKinds(resp::ReplyKind::kInteger).within(0, resp::ReplyKinds::kMost);

resp::Command wait_command(int replicas, Millis wait_time) {
  return {"WAIT", std::to_string(replicas), std::to_string(wait_time.count())};
}

}  // namespace

// The second write of a grant; keeps its result for its round.
class ReplicaAcknowledger::Write final : public client::Request,
                                         public std::enable_shared_from_this<Write> {
 public:
  Write(std::shared_ptr<ReplicaAcknowledger> owner, Item what)
      : item(std::move(what)), owner_(std::move(owner)) {
    deadline = item.deadline;
  }

  std::string_view key() const override { return item.grant.name.bytes(); }
  // A millisecond longer than the grant, so that it is a write on every server.
  resp::ReplyKinds encode(std::string& out, bool by_text) const override {
    script::Writer writer(out, by_text);
    const UnconfirmedGrant& grant = item.grant;
    grant.recipe->write_again(writer, grant.name, grant.owner, grant.lease + Millis(1));
    return writer.replies();
  }
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override {
    const UnconfirmedGrant& grant = item.grant;
    Acknowledgement outcome;
    if (!reply.ok()) {
      outcome = {Kind::kFailed, unreachable_status(reply.status(), grant.name)};
    } else if (reply.value().is_error()) {
      const std::string_view text = reply.value().text();
      outcome = {is_temporary(text) ? Kind::kRefused : Kind::kFailed,
                 error_status(text, grant.name, owner_->topology_->text())};
    } else if (!grant.recipe->written_again(reply.value())) {
      outcome = {Kind::kGone};
    }
    const MutexLock guard(mutex_);
    outcome_ = std::move(outcome);
    stream_ = sent.stream;
  }
  std::shared_ptr<Request> follow_up() override;

  // Whether the WAIT that asks shows its outcome: the first one does, the round's or a separate
  // one. Connections for confirmations are read by one thread, so a separate one is known before
  // the round's is answered on the same stream. A write that a round has sent again may still be
  // redirected, and then gets no WAIT: a grant that is confirmed twice would be taken for the
  // confirmation of the next attempt.
  bool claim() {
    const MutexLock guard(mutex_);
    return !std::exchange(claimed_, true);
  }

  // Its result, over the stream of the WAIT; unset: to be sent again.
  std::optional<Acknowledgement> outcome(std::uint64_t stream) const {
    const MutexLock guard(mutex_);
    const bool there = outcome_ && outcome_->kind == Kind::kConfirmed;
    return there && stream_ != stream ? std::nullopt : outcome_;
  }

  const Item item;

 private:
  const std::shared_ptr<ReplicaAcknowledger> owner_;
  mutable Mutex mutex_;  // the client may be closed by any thread
  bool claimed_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::optional<Acknowledgement> outcome_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t stream_ HOLDFAST_GUARDED_BY(mutex_) = 0;
};

// The end of a round, or of a redirected write.
class ReplicaAcknowledger::Wait final : public client::Request {
 public:
  Wait(std::shared_ptr<ReplicaAcknowledger> owner, ConnectionPtr on, std::vector<WritePtr> all)
      : connection(std::move(on)), writes(std::move(all)), owner_(std::move(owner)) {
    deadline = TimePoint{};
    for (const WritePtr& write : writes) {
      const UnconfirmedGrant& grant = write->item.grant;
      const Millis half = std::min(owner_->policy_.command_timeout, grant.lease) / 2;
      Millis longest = std::max(std::min(kLongestWait, half), Millis(1));
      // No longer than its caller waits, who then gets the replicas as the reason.
      if (grant.latest != kNever) {
        const Duration left = grant.latest - kLateAnswer - owner_->clock_.now();
        longest = std::clamp(std::chrono::ceil<Millis>(left), Millis(1), longest);
      }
      wait_time = std::max(wait_time, longest);
      deadline = std::max(deadline, write->deadline);
    }
  }

  std::string_view key() const override { return writes.front()->key(); }
  std::string_view subject() const override { return {}; }
  resp::ReplyKinds encode(std::string& out, bool /*by_text*/) const override {
    out += wait_command(owner_->policy_.replicas, wait_time).bytes();
    return kWaitReplies;
  }
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override {
    owner_->answered(*this, reply, sent);
  }

  const ConnectionPtr connection;  // the round's; null: a single write's
  const std::vector<WritePtr> writes;
  Millis wait_time{1};

 private:
  const std::shared_ptr<ReplicaAcknowledger> owner_;
};

std::shared_ptr<client::Request> ReplicaAcknowledger::Write::follow_up() {
  if (!claim()) return nullptr;
  return std::make_shared<Wait>(owner_, nullptr, std::vector<WritePtr>{shared_from_this()});
}

ReplicaAcknowledger::ReplicaAcknowledger(const Clock& clock,
                                         std::shared_ptr<topology::Topology> topology,
                                         ReplicationPolicy acquire_options)
    : clock_(clock), topology_(std::move(topology)), policy_(acquire_options) {}

ReplicaAcknowledger::ConnectionPtr ReplicaAcknowledger::route(std::string_view key) const {
  return topology_->route(key, topology::Traffic::kConfirmations);
}

Status ReplicaAcknowledger::confirm(UnconfirmedGrant grant, Confirmed confirmed) {
  return add(
      {std::move(grant), std::move(confirmed), after(clock_.now(), policy_.command_timeout)});
}

ReplicaAcknowledger::Queue& ReplicaAcknowledger::queue_of(const ConnectionPtr& connection) {
  const auto found = queues_.find(connection);
  if (found != queues_.end()) return found->second;
  for (auto each = queues_.begin(); each != queues_.end();) {
    each = each->first.expired() ? queues_.erase(each) : std::next(each);
  }
  return queues_[connection];
}

Status ReplicaAcknowledger::add(Item item) {
  const ConnectionPtr connection = route(item.grant.name.bytes());
  const MutexLock guard(mutex_);
  Queue& queue = queue_of(connection);
  queue.waiting.push_back(std::move(item));
  return queue.busy ? Status{} : begin_round(connection, queue);
}

Status ReplicaAcknowledger::begin_round(const ConnectionPtr& connection, Queue& queue) {
  std::vector<WritePtr> writes;
  for (Item& item : std::exchange(queue.waiting, {})) {
    writes.push_back(std::make_shared<Write>(shared_from_this(), std::move(item)));
    if (Status closed = connection->submit(writes.back()); !closed.ok()) return closed;
  }
  Status closed =
      connection->submit(std::make_shared<Wait>(shared_from_this(), connection, std::move(writes)));
  queue.busy = closed.ok();
  return closed;
}

void ReplicaAcknowledger::answered(const Wait& wait, const Result<resp::Reply>& reply,
                                   const client::Sent& sent) {
  std::vector<std::pair<Confirmed, Acknowledgement>> due;
  for (const WritePtr& write : wait.writes) {
    if (wait.connection && !write->claim()) continue;
    std::optional<Acknowledgement> outcome = write->outcome(sent.stream);
    if (!reply.ok() || (outcome && outcome->kind == Kind::kConfirmed)) {
      outcome = judge_wait(reply, write->key(), wait.wait_time);
    }
    if (!outcome) {
      Status closed = add(write->item);
      if (!closed.ok()) outcome = Acknowledgement{Kind::kFailed, std::move(closed)};
    }
    if (outcome) due.emplace_back(write->item.confirmed, std::move(*outcome));
  }
  if (wait.connection) {  // the next round
    const MutexLock guard(mutex_);
    Queue& queue = queue_of(wait.connection);
    queue.busy = false;
    const std::vector<Item> waiting = queue.waiting;
    const Status closed = waiting.empty() ? Status{} : begin_round(wait.connection, queue);
    if (!closed.ok()) {
      for (const Item& item : waiting) {
        due.emplace_back(item.confirmed, Acknowledgement{Kind::kFailed, closed});
      }
    }
  }
  for (auto& [confirmed, outcome] : due) confirmed(std::move(outcome));
}

Acknowledgement ReplicaAcknowledger::judge_wait(const Result<resp::Reply>& reply,
                                                std::string_view key, Millis wait_time) const {
  const LockName name{std::string(key)};
  if (!reply.ok()) return {Kind::kFailed, unreachable_status(reply.status(), name)};
  if (reply.value().is_error()) {
    const std::string text(reply.value().text());
    if (is_temporary(text)) {
      return {Kind::kRefused, error_status(text, name, topology_->text())};
    }
    return {Kind::kFailed,
            Status::server(text.substr(0, text.find(' ')),
                           quoted(name.bytes()) + " on " + topology_->text() + ": " + shown(text) +
                               "; replicas_to_wait needs WAIT: use a server that has it and a "
                               "user that may run it, or set replicas_to_wait=0")};
  }
  if (reply.value().integer() >= policy_.replicas) return {};
  return {
      Kind::kRefused,
      Status::server(
          "NOREPLICAS",
          quoted(name.bytes()) + " on " + topology_->text() + ": " +
              std::to_string(reply.value().integer()) + " of " + std::to_string(policy_.replicas) +
              " replicas acknowledged the grant within " + std::to_string(wait_time.count()) +
              " ms, so it was released; check that they are up and connected, or "
              "lower replicas_to_wait")};
}

bool ReplicaAcknowledger::probed(std::string_view key) const {
  const ConnectionPtr connection = route(key);
  const MutexLock guard(mutex_);
  const auto found = queues_.find(connection);
  return found != queues_.end() && found->second.probed;
}

// WAIT for no replicas: whether the server and the user's rights have the command.
Status ReplicaAcknowledger::probe(std::string_view key, const Confirmed& confirmed) {
  const ConnectionPtr connection = route(key);
  const auto completed = [self = shared_from_this(), on = std::weak_ptr(connection), confirmed,
                          key = std::string(key)](const Result<resp::Reply>& reply,
                                                  const client::Sent& /*sent*/) {
    const bool there = reply.ok() && !reply.value().is_error();
    if (const ConnectionPtr probed = there ? on.lock() : nullptr) {
      const MutexLock guard(self->mutex_);
      self->queue_of(probed).probed = true;
    }
    confirmed(there ? Acknowledgement{} : self->judge_wait(reply, key, Millis(0)));
  };
  const auto probe = std::make_shared<client::PlainRequest>(wait_command(0, Millis(1)),
                                                            kWaitReplies, completed, key);
  probe->deadline = after(clock_.now(), policy_.command_timeout);
  return connection->submit(probe);
}

}  // namespace holdfast::sync
