#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "locks/lease/hold.h"
#include "redis/client.h"

namespace holdfast::lease {

class Watchdog;

// One command that renews holds: those that are due together, are of one kind and for one lease,
// and have their keys at one server, in a cluster in one slot. A hold that is released before the
// command goes out is left out of it. What a hold is asked for and may believe is its own matter:
// see Watchdog.
//
// Most of what a renewal costs the server is the call of a script: in a batch a hold takes 1.7 to
// 2.1 us of its processor instead of 2.9. Each hold has the answer that it would have alone: if the
// server refuses a batch, its holds are renewed one by one until the server takes them, and what a
// batch has not found is renewed alone before it counts as lost, as a proxy may have sent the batch
// to the server of its first key.
class RenewalBatch final : public client::Request {
 public:
  // More gain little, and a script keeps others waiting: 0.1 ms for these. kMostDeclaredKeys: for a
  // server that tracks all declared keys of a script with each that it reads.
  static constexpr std::size_t kMostKeys = 50;
  static constexpr std::size_t kMostDeclaredKeys = 8;

  // The common part of the holds of a batch.
  struct Common {
    const Renewal* renewal;
    Millis lease;
    std::optional<topology::Slot> slot;

    bool operator<(const Common& other) const {
      return std::tie(renewal, lease, slot) < std::tie(other.renewal, other.lease, other.slot);
    }
  };

  // `most`: holds.
  RenewalBatch(std::weak_ptr<Watchdog> watchdog, Common its, std::size_t most)
      : common(its), watchdog_(std::move(watchdog)), most_(most) {
    impatient = true;
    holds_.reserve(most);
  }

  // `until`: when its renewal is given up.
  void add(HoldPtr hold, TimePoint until);
  const std::vector<HoldPtr>& holds() const { return holds_; }
  bool full() const { return holds_.size() == most_; }

  std::string_view key() const override;
  resp::ReplyKinds encode(std::string& out, bool by_text) const override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

  // What a reply says of each hold, as Renewal::renewed(); nothing of one that was left out, and
  // of all where it is no answer to the renewal.
  using Found = std::vector<std::optional<std::int64_t>>;
  Found found(const Result<resp::Reply>& reply) const;

  const Common common;
  // It has had no answer for so long that it was counted as failed. Guarded by the keeper's lock.
  mutable bool overdue = false;

 private:
  const std::weak_ptr<Watchdog> watchdog_;
  const std::size_t most_;
  std::vector<HoldPtr> holds_;
  // Their numbers, of those that the newest sending is about. Guarded by the connection's lock
  // until the reply has come.
  mutable std::vector<std::size_t> sent_;
};

// The check of one hold, which goes out by itself.
class HoldRequest final : public client::Request {
 public:
  // `until`: it is given up.
  HoldRequest(std::weak_ptr<Watchdog> watchdog, HoldPtr hold, TimePoint until)
      : watchdog_(std::move(watchdog)), hold_(std::move(hold)) {
    impatient = true;
    deadline = until;
  }

  std::string_view key() const override { return hold_->name.bytes(); }
  resp::ReplyKinds encode(std::string& out, bool by_text) const override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

 private:
  const std::weak_ptr<Watchdog> watchdog_;
  const HoldPtr hold_;
};

// Puts holds that are due into batches.
class RenewalBatches {
 public:
  // `most_keys`: of a batch, unless a single hold has more.
  RenewalBatches(std::weak_ptr<Watchdog> watchdog, std::size_t most_keys)
      : watchdog_(std::move(watchdog)), most_keys_(most_keys) {}

  // A hold whose renewal is due, and is given up at `until`.
  struct Due {
    HoldPtr hold;
    TimePoint until;
  };
  // `slot`: of the hold, in a cluster.
  void add(const Due& due, std::optional<topology::Slot> slot);
  // All of them.
  std::vector<std::shared_ptr<RenewalBatch>> take() { return std::move(all_); }

 private:
  using BatchPtr = std::shared_ptr<RenewalBatch>;

  BatchPtr begin(const RenewalBatch::Common& common, std::size_t most);

  const std::weak_ptr<Watchdog> watchdog_;
  const std::size_t most_keys_;
  std::vector<BatchPtr> all_;
  std::map<RenewalBatch::Common, BatchPtr> open_;  // the newest one of each sort
};

}  // namespace holdfast::lease
