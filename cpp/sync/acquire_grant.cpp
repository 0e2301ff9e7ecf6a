// The acquisition's part in grants: offered by the holder, confirmed by replicas, kept, given back.

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "sync/acquire_operation.h"

namespace holdfast::sync {

void AcquireOperation::adopt(TimePoint begun) {
  const MutexLock lock(mutex_);
  waited_for_here();
  begun_ = begun;
  begun_attempt_ = true;
  count_ = 1;
  patience = first_patience();
  (void)machine_.resume({Event::Kind::kStart}, begun);
}

bool AcquireOperation::accept_offer(const std::function<void()>& send) {
  const MutexLock lock(mutex_);
  if (!machine_.open_to_offers()) return false;
  if (!begin_attempt().ok()) return false;
  (void)machine_.resume({Event::Kind::kOffer}, now());
  count_ = 1;
  send();
  return true;
}

void AcquireOperation::offer_answered(const Answer& answer, const client::Sent& sent) {
  Event event;
  {
    const MutexLock lock(mutex_);
    event = granted(answer, sent);
  }
  deliver(std::move(event));
}

void AcquireOperation::offer_in_doubt(const Status& why) {
  {
    const MutexLock lock(mutex_);
    maybe_granted_ = true;
  }
  deliver({Event::Kind::kRefused, {}, kNever, why, true});
}

// A millisecond longer than the grant, which makes it a write whatever the server compares.
void AcquireOperation::write_again(std::string& out, bool by_text) const {
  recipe_.renew(out, name(), field(owner_), request_.lease.time + Millis(1), by_text);
}

Millis AcquireOperation::longest_wait() const {
  return context().acknowledger->longest_wait(request_.lease.time);
}

void AcquireOperation::confirmed(Acknowledgement outcome) {
  using Kind = Acknowledgement::Kind;
  Event event{Event::Kind::kConfirmed};
  {
    const MutexLock lock(mutex_);
    const bool probed = std::exchange(probing_, false);
    if (finished()) return;
    if (probed && outcome.kind == Kind::kConfirmed) {
      const Status closed = submit();
      if (closed.ok()) return;
      outcome = {Kind::kFailed, closed};
    }
    event.why = std::move(outcome.why);
    event.unknown = !probed;
    if (outcome.kind == Kind::kFailed) event.kind = Event::Kind::kFailed;
    if (outcome.kind == Kind::kGone) event.kind = Event::Kind::kForgotten;
    if (outcome.kind == Kind::kRefused) {
      event.kind = probed ? Event::Kind::kRefused : Event::Kind::kUnconfirmed;
    }
  }
  deliver(std::move(event));
}

AcquireMachine::Event AcquireOperation::keep(const Machine::Action& action) {
  if (keep_grant(action)) return {Event::Kind::kKept};
  const std::string why = ": the client was closed before the grant arrived; it was given back";
  return {Event::Kind::kFailed, {}, kNever, Status::closed("'" + name().bytes() + "'" + why), true};
}

// False, and nothing is recorded, when the client is being closed.
bool AcquireOperation::keep_grant(const Machine::Action& action) {
  if (!recipe_.makes_holds()) return !recipe_.takes() || !context().keeper->closing();
  const lease::Grant grant{name(),
                           owner_,
                           count_,
                           request_.lease,
                           sent_,
                           &recipe_,
                           request_.listener,
                           action.value,
                           request_.acquire_options.at_least,
                           now(),
                           stats_.counted()};
  if (!context().keeper->granted(grant)) return false;
  begun_attempt_ = false;
  return true;
}

void AcquireOperation::give_back_grant() {
  if (!recipe_.makes_holds()) return take_back(0);
  PendingRelease::give_back(shared_context(), recipe_,
                            {name(), owner_, 0, request_.acquire_options}, longest_lease());
}

Millis AcquireOperation::longest_lease() const {
  return std::max(request_.lease.time, request_.acquire_options.queue_timeout);
}

// A client that closes may have released the owner's earlier holds while the attempt was under way:
// they do not come back.
void AcquireOperation::take_back(int remaining) {
  if (!recipe_.takes()) return;
  remaining = std::min(remaining, context().keeper->count(name(), owner_));
  PendingRelease::take_back(shared_context(), release_to(remaining), longest_lease());
}

PendingRelease::What AcquireOperation::release_to(int remaining) const {
  return PendingRelease::release_of(shared_context(), recipe_,
                                    {name(), owner_, remaining, request_.acquire_options});
}

}  // namespace holdfast::sync
