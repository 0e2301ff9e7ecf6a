#include "sync/release_operation.h"

#include <utility>

#include "sync/keys.h"
#include "sync/pending_release.h"
#include "sync/preload.h"

namespace holdfast::sync {

namespace {
constexpr Millis kRefusedRest{50};
}  // namespace

ReleaseOperation::ReleaseOperation(std::shared_ptr<const Context> context, const Recipe& recipe,
                                   What what)
    : Operation(std::move(context), what.name),
      recipe_(recipe),
      what_(std::move(what)),
      channel_(recipe.channel(name(), field(what_.owner)).bytes()) {}

void ReleaseOperation::begin() {
  const Lock lock(mutex_);
  plan_ = context().keeper->begin_release(name(), what_.owner, what_.all, shared_from_this());
  give_up_ = after(now(), context().command_timeout);
  sent_before_ = plan_.repeated;
  switch (plan_.verdict) {
    case Plan::Verdict::kNotOwned:
      if (context().keeper->closed()) return go();  // which fails, and says why
      return finish({Verdict::kBusy});
    case Plan::Verdict::kLost:
      // By the client's reckoning it is over; what the server may still have of it need not wait.
      PendingRelease::take_back(shared_context(), pending(), context().command_timeout);
      return gone(plan_.reason);
    case Plan::Verdict::kDone:
      return finish({});
    case Plan::Verdict::kFinal:
      if (may_hand_over() && hand_over()) return;
      break;
    case Plan::Verdict::kPartial:
      break;
  }
  go();
}

// Not a hold that may be under another field by now, nor a lock that has to stay closed.
bool ReleaseOperation::may_hand_over() const {
  const bool plain = plan_.other.empty() && plan_.stays(now()) == Millis(0);
  return plain && recipe_.transfers() && !shares_channels(name());
}

bool ReleaseOperation::hand_over() {
  heir_ = std::dynamic_pointer_cast<AcquireOperation>(context().waits->heir(channel_, now()));
  if (!heir_ || !heir_->accept_offer([this] { go(); })) {
    heir_.reset();
    return false;
  }
  // Not sent after all: the heir is to ask for itself.
  if (finished()) std::exchange(heir_, nullptr)->offer_answered({Answer::Kind::kHeld}, {});
  return true;
}

void ReleaseOperation::go() {
  wake_at(kNever);
  resting_ = false;
  const Status refused = submit();
  // Its owner has asked for the lock again, and whatever comes of that counts.
  if (refused.code() == Code::kRevoked) return finish({});
  if (!refused.ok()) failed(refused);
}

void ReleaseOperation::cancel() {
  const Lock lock(mutex_);
  if (finished()) return;
  cancelled_ = true;
  if (plan_.verdict == Plan::Verdict::kPartial) {
    context().keeper->released(name(), what_.owner, plan_);
    return abandon();
  }
  if (!resting_) return;  // complete() follows
  leave_to_ledger(true);
  finish({Verdict::kCancelled});
}

Exchange::About ReleaseOperation::about() {
  const Lock lock(mutex_);
  return {recipe_.kind(), what_.owner, plan_.remaining == 0};
}

void ReleaseOperation::time_is_up(TimePoint /*now*/) {
  const Lock lock(mutex_);
  if (finished()) return;
  if (cancelled_) return finish({Verdict::kCancelled});
  go();
}

PendingRelease::What ReleaseOperation::pending() const {
  return PendingRelease::release_of(shared_context(), recipe_, {name(), what_.owner, 0, {}, plan_});
}

// It goes on without its caller, unless something newer has taken its place.
void ReleaseOperation::leave_to_ledger(bool rested) {
  PendingRelease::carry_on(shared_context(), pending(), plan_.ticket, rested);
}

void ReleaseOperation::encode(std::string& out) const {
  Step step{name(),
            field(what_.owner),
            plan_.remaining,
            heir_ ? heir_->lease_time() : Millis(0),
            context().topology->publish_command(),
            by_text_};
  if (heir_) return heir_->recipe().transfer(out, step, heir_->owner_field());
  add_plan(step, plan_, context());
  encode_release(recipe_, out, step);
}

void ReleaseOperation::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  Heir heir;
  Answer answer{Answer::Kind::kHeld, Millis(0)};
  {
    const Lock lock(mutex_);
    heir = heir_;
    sent_before_ = sent_before_ || sent.times > 1;
    if (cancelled_ && plan_.verdict == Plan::Verdict::kPartial) {
      return finish({Verdict::kCancelled});
    }
    if (!reply.ok()) {
      failed(unreachable_status(reply.status(), name()));
    } else if (reply.value().is_error()) {
      refused(reply.value().text());
    } else {
      if (heir) answer = heir->recipe().transferred(reply.value());
      answered(reply.value());
    }
    heir_.reset();
  }
  calls_.run();
  if (!heir) return;
  if (reply.ok()) {
    heir->offer_answered(answer, sent);
  } else {
    heir->on_failure(reply.status());
  }
}

void ReleaseOperation::answered(const resp::Reply& reply) {
  // Gone, but asked before, and the lease cannot have run out since: the first time has done it. A
  // release that leaves holds leaves the field, too, however often it is sent.
  const bool by_first =
      plan_.verdict == Plan::Verdict::kFinal && sent_before_ && now() < plan_.trusted;
  if (!reply.is_nil() || by_first) {
    context().keeper->released(name(), what_.owner, plan_);
    const bool told = reply.is_integer() && reply.integer() > 0 && !heir_;
    const Waiting waiting = recipe_.waiting();
    if (told && (waiting == Waiting::kInTurn || waiting == Waiting::kBackOff)) {
      calls_ = context().waits->told(channel_, reply.integer() - 1, now());
    }
    return finish({});
  }
  const char* reason =
      "the server no longer has it (it expired, was removed, or the server lost its data)";
  context().keeper->release_found_nothing(name(), what_.owner, plan_, reason);
  gone(reason);
}

void ReleaseOperation::gone(const std::string& reason) {
  // The loss stays to be seen until the owner's next grant, if there can be one.
  if (!recipe_.owners_return()) context().keeper->owner_ended(what_.owner);
  finish({Verdict::kGone, Status::invalid(reason)});
}

void ReleaseOperation::refused(std::string_view text) {
  // The heir is signalled to try for itself: by the time of a second attempt it may have given up.
  const bool handing_over = std::exchange(heir_, nullptr) != nullptr;
  const ErrorKind kind = error_kind(text);
  if (kind == ErrorKind::kUnknownScript && !by_text_) {
    by_text_ = true;
    preload(context(), recipe_, name());
    return go();
  }
  if (kind == ErrorKind::kPasses && !cancelled_ && now() < give_up_) {
    resting_ = true;
    return wake_at(after(now(), kRefusedRest));
  }
  // Handing over may need what the server has not (memory); freeing does not.
  if (handing_over) return go();
  const Status why = error_status(text, name(), context().topology->text());
  const bool for_good = kind != ErrorKind::kPasses && plan_.verdict == Plan::Verdict::kFinal;
  if (!for_good) return failed(why);
  using LateEnd = lease::LeaseKeeper::LateEnd;
  context().keeper->ended_late(name(), what_.owner, plan_.ticket, LateEnd::kRefused);
  finish({Verdict::kFailed, why});
}

void ReleaseOperation::failed(const Status& why) {
  if (plan_.verdict == Plan::Verdict::kPartial && why.code() != Code::kClosed) {
    // The server need not know the smaller count: the last release frees the lock whatever it is,
    // and says so where it cannot.
    context().keeper->released(name(), what_.owner, plan_);
    return finish({});
  }
  if (plan_.verdict == Plan::Verdict::kFinal && why.code() != Code::kClosed) {
    leave_to_ledger(why.code() == Code::kServer);
  }
  finish({Verdict::kFailed, why});
}

}  // namespace holdfast::sync
