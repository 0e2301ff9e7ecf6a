#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "locks/lease/hold.h"
#include "locks/lease/keeper.h"
#include "locks/lease/look_budget.h"
#include "locks/lease/note_book.h"
#include "locks/lease/renewal_batch.h"
#include "redis/base/mutex.h"
#include "redis/client.h"
#include "redis/net/pollable.h"

namespace holdfast::lease {

// Renews the holds of one client, each a third of its lease after the last time, in batches that
// are spread over the period. Where the server refuses a batch, each of its holds is renewed alone,
// and so is a hold that a batch has not found. A renewal that fails is tried again within a quarter
// of a second until the hold's time is over; then, or when the server says that it is gone, the
// hold is *lost*. A local timer finds that even where the network says nothing. Thread-safe; driven
// by one of the loops for watchdogs.
class Watchdog final : public net::Pollable {
 public:
  explicit Watchdog(Keeper& keeper) : keeper_(keeper) {}

  // A reference to it keeps its keeper alive.
  std::shared_ptr<Watchdog> shared() { return {keeper_.shared_from_this(), this}; }
  std::weak_ptr<Watchdog> weak() { return shared(); }

  const std::string& client_id() const { return keeper_.client_id; }
  // Where renewals go, and how long any command is waited for; to be set once, before the first
  // grant.
  void set_topology(std::weak_ptr<topology::Topology> topology, Millis command_timeout)
      HOLDFAST_EXCLUDES(keeper_.mutex);

  // A connection broke: verifies every hold now.
  void verify() HOLDFAST_EXCLUDES(keeper_.mutex);
  // The servers are to report when the keys of holds change. To be called once, before the first
  // grant.
  void track() HOLDFAST_EXCLUDES(keeper_.mutex);
  // What a server has said: these holds are looked at, at once unless that is often. Whatever it
  // has said, only the look decides.
  void changed(const client::KeyChanges& changes) HOLDFAST_EXCLUDES(keeper_.mutex);

  // For tests of programs: while `on`, nothing is renewed or verified, so that leases run out.
  void pause(bool on) { paused_ = on; }

  // The reply to a batch, and to a hold that was sent as a request.
  void answered(const RenewalBatch& batch, const Result<resp::Reply>& reply,
                const client::Sent& sent) HOLDFAST_EXCLUDES(keeper_.mutex);
  void answered(Hold& hold, const Result<resp::Reply>& reply, const client::Sent& sent)
      HOLDFAST_EXCLUDES(keeper_.mutex);

  // A command about notes has that reply.
  void noted(const NoteRequest& request, const Result<resp::Reply>& reply)
      HOLDFAST_EXCLUDES(keeper_.mutex);
  TimePoint now() const { return keeper_.clock.now(); }

  net::Interest step(TimePoint now) override HOLDFAST_EXCLUDES(keeper_.mutex);

 private:
  using Renewals = std::vector<RenewalBatches::Due>;

  net::Interest next_step(TimePoint now) HOLDFAST_REQUIRES(keeper_.mutex);
  void due(Hold& hold, TimePoint now, Renewals& renewals) HOLDFAST_REQUIRES(keeper_.mutex);
  void request(Hold& hold, bool renews, TimePoint now, Renewals& renewals)
      HOLDFAST_REQUIRES(keeper_.mutex);
  // Sets the time of the next renewal, after one that was sent then.
  void plan_renewal(Hold& hold, TimePoint sent, TimePoint now) HOLDFAST_REQUIRES(keeper_.mutex);
  // The answer to a renewal, or a check, of a hold.
  struct RenewalAnswer {
    std::optional<std::int64_t> found;  // nothing: there is none, or it is an error
    const char* loss;                   // why it is gone where `found` is 0
    bool counted;                       // among the figures, before it came
  };
  static RenewalAnswer answer(std::optional<std::int64_t> found, const Result<resp::Reply>& reply,
                              bool overdue);
  void conclude(Hold& hold, const RenewalAnswer& answer, const client::Sent& sent, TimePoint now)
      HOLDFAST_REQUIRES(keeper_.mutex);
  void landed(Hold& hold, const Result<resp::Reply>& reply, const client::Sent& sent)
      HOLDFAST_REQUIRES(keeper_.mutex);
  void key_answered(Hold& key, const Result<resp::Reply>& reply, const client::Sent& sent)
      HOLDFAST_EXCLUDES(keeper_.mutex);
  void post_refusal(const Result<resp::Reply>& reply) HOLDFAST_REQUIRES(keeper_.mutex);
  // Sends what is to be noted now.
  void write_notes(NoteBook::Work work) HOLDFAST_EXCLUDES(keeper_.mutex);
  void note_failure(const Result<resp::Reply>& reply) HOLDFAST_REQUIRES(keeper_.mutex);
  void failed(Hold& hold, TimePoint now) HOLDFAST_REQUIRES(keeper_.mutex);
  void count_overdue(TimePoint now) HOLDFAST_REQUIRES(keeper_.mutex);
  void look_found(Hold& hold, std::int64_t left, const client::Sent& sent, TimePoint now)
      HOLDFAST_REQUIRES(keeper_.mutex);
  void note_tracking(Hold& hold, client::Tracked tracked) HOLDFAST_REQUIRES(keeper_.mutex);
  void look_again(Hold& hold, TimePoint now) HOLDFAST_REQUIRES(keeper_.mutex);
  // When the next of the renewals that were submitted is overdue, at the earliest.
  TimePoint submit(const Renewals& renewals) HOLDFAST_EXCLUDES(keeper_.mutex);

  Keeper& keeper_;
  std::weak_ptr<topology::Topology> topology_ HOLDFAST_GUARDED_BY(keeper_.mutex);
  Millis command_timeout_ HOLDFAST_GUARDED_BY(keeper_.mutex) = Millis(0);
  std::uint64_t grants_ HOLDFAST_GUARDED_BY(keeper_.mutex) = 0;  // before the last step
  TimePoint busy_until_ HOLDFAST_GUARDED_BY(keeper_.mutex) = TimePoint{};
  LookBudget looks_ HOLDFAST_GUARDED_BY(keeper_.mutex);
  bool verify_ HOLDFAST_GUARDED_BY(keeper_.mutex) = false;
  // By the time when each is overdue; gone once it is answered.
  std::multimap<TimePoint, std::weak_ptr<const RenewalBatch>> submitted_
      HOLDFAST_GUARDED_BY(keeper_.mutex);
  std::size_t most_keys_ HOLDFAST_GUARDED_BY(keeper_.mutex) =
      RenewalBatch::kMostKeys;  // in a batch
  // A proxy takes keys of one slot only, and this client does not know the slots.
  TimePoint alone_until_ HOLDFAST_GUARDED_BY(keeper_.mutex) = TimePoint{};
  SharedAtomic<bool> paused_{false};
};

}  // namespace holdfast::lease
