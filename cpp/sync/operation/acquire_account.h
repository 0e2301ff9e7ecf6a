#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lease/attempts.h"
#include "sync/operation/acquire_request.h"
#include "sync/operation/context.h"

namespace holdfast::sync {

// The entries of one acquisition in its client's LeaseKeeper: that it is under way, its grant, and
// the releases that take back grants without a caller. Used by one thread, or with its operation's
// lock held.
class AcquireAccount {
 public:
  AcquireAccount(std::shared_ptr<const Context> context, AcquireRequest request);
  // Takes the attempt; the request stays with the other one too, which may have to send it again.
  // NOLINTNEXTLINE(performance-move-constructor-init): see above
  AcquireAccount(AcquireAccount&& other) noexcept
      : context_(other.context_), request_(other.request_), attempt_(std::move(other.attempt_)) {}
  AcquireAccount& operator=(AcquireAccount&& other) = delete;
  ~AcquireAccount() = default;

  // Its slot and owner may change: take_slot().
  const AcquireRequest& request() const { return request_; }
  const std::shared_ptr<const Context>& context() const { return context_; }

  // The acquisition begins. False: another one of the owner's is under way.
  bool open() { return attempt_.begin(); }
  // OK, or the loss of the owner's that a grant would hide: once, if it is not of an open block.
  Status refuse() const;
  // It is of a lock, whose owner must not use it meanwhile.
  bool excludes() const { return request_.excludes_owner(); }
  // Not begun: of the call that waits for it, which may end later. The account outlives it.
  lease::Attempt call() const;
  // Before each attempt; open() is part of the first.
  lease::AttemptPlan begin() {
    lease::Attempts& attempts = context_->keeper->attempts();
    const lease::AttemptPlan plan = attempts.begin(attempt_);
    if (attempts.recorded()) record();
    return plan;
  }
  // The server has answered the attempt that took over a release.
  void answered();

  // Its lease would be lengthened by an earlier renewal of the owner's, which is on the wire. Not
  // that of a nested hold: what it nests in has that lease, and could be lost meanwhile.
  bool held_up() const {
    const lease::LeaseKeeper& keeper = *context_->keeper;
    return !request_.lease.renewed && keeper.renewal_on_wire(request_.name(), request_.owner) &&
           keeper.count(request_.name(), request_.owner) == 0;
  }
  // Records the grant. False, and nothing is recorded, when the client is being closed.
  struct Granted {
    int count;
    TimePoint sent;
    std::optional<std::int64_t> token;
    TimePoint at;  // when the answer came
  };
  bool keep(const Granted& grant);
  // The server does not have the owner's earlier holds.
  void lose(const std::string& reason);
  // The acquisition is over. No effect after keep() of a hold.
  void close() { attempt_.end(); }

  // Takes back possible grants of attempts, down to `remaining` holds.
  void take_back(int remaining);
  // Gives back the grant that was kept.
  void give_back() const;
  // The next attempt is another request: the one taken back keeps its slot.
  void take_slot();

 private:
  void record();
  void send_release(OwnerNumber owner, int remaining, std::int64_t amount) const;
  Millis longest_lease() const;

  std::shared_ptr<const Context> context_;
  AcquireRequest request_;  // of a lock, its name and owner stay
  lease::Attempt attempt_;
};

}  // namespace holdfast::sync
