// The acquisition's steps for grants by a hand-over, and for replicas.

#include <utility>

#include "base/mutex.h"
#include "sync/operation/acquire_operation.h"

namespace holdfast::sync {

bool AcquireOperation::accept_offer(const std::function<void()>& send) {
  const MutexLock lock(mutex_);
  if (!machine_.open_to_offers()) return false;
  const lease::AttemptPlan plan = account_.begin();
  if (plan.verdict != lease::AttemptPlan::Verdict::kBegun) return false;
  Event event{Event::Kind::kOffer};
  event.takes_over = plan.takes_over;
  (void)machine_.resume(event, now());
  send();
  return true;
}

void AcquireOperation::offer_answered(const Answer& answer, const client::Sent& sent) {
  Event event = this->answer(answer, sent);
  event.unknown = true;
  deliver(std::move(event));
}

void AcquireOperation::offer_in_doubt(const Status& why) {
  deliver(Event::of(Event::Kind::kRefused, why, true));
}

// A millisecond longer than the grant, so that it is a write on every server.
void AcquireOperation::write_again(script::Writer& out) const {
  recipe().taking()->write_again(out, name(), owner_field(), request().lease.time + Millis(1));
}

Millis AcquireOperation::longest_wait() const {
  return context().acknowledger->longest_wait(request().lease.time);
}

AcquireOperation::Next AcquireOperation::awaiting(const Status& closed) {
  if (closed.ok()) return std::nullopt;
  return Event::of(Event::Kind::kAskFailed, closed);
}

void AcquireOperation::confirmed(Acknowledgement outcome) {
  switch (outcome.kind) {
    case Acknowledgement::Kind::kConfirmed:
      return deliver({Event::Kind::kConfirmed});
    case Acknowledgement::Kind::kGone:
      return deliver({Event::Kind::kForgotten});
    case Acknowledgement::Kind::kRefused:
      return deliver(Event::of(Event::Kind::kUnconfirmed, std::move(outcome.why)));
    case Acknowledgement::Kind::kFailed:
      return deliver(Event::of(Event::Kind::kAskFailed, std::move(outcome.why)));
  }
}

}  // namespace holdfast::sync
