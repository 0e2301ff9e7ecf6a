#include "sync/release_operation.h"

#include <utility>

#include "sync/keys.h"
#include "sync/preload.h"
#include "sync/undo.h"

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
  plan_ = context().keeper->begin_release(name(), what_.owner, what_.all);
  give_up_ = after(now(), context().command_timeout);
  sent_before_ = plan_.repeated;
  switch (plan_.verdict) {
    case Plan::Verdict::kNotOwned:
      if (context().keeper->closed()) return go();  // which fails, and says why
      return finish({Verdict::kBusy});
    case Plan::Verdict::kLost:
      // By the client's reckoning it is over; what the server may still have of it need not wait.
      Undo::submit(shared_context(), recipe_, {name(), what_.owner, 0}, context().command_timeout);
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
  if (heir_ && heir_->accept_offer([this] { go(); })) return true;
  heir_.reset();
  return false;
}

void ReleaseOperation::go() {
  wake_at(kNever);
  const Status closed = submit();
  if (!closed.ok()) failed(closed);
}

void ReleaseOperation::go_again() {
  if (context().keeper->superseded(name(), what_.owner, plan_)) return finish({});
  go();
}

void ReleaseOperation::cancel() {
  const Lock lock(mutex_);
  if (finished() || plan_.verdict != Plan::Verdict::kPartial) return;
  cancelled_ = true;
  context().keeper->released(name(), what_.owner, plan_);
  abandon();
}

Exchange::About ReleaseOperation::about() {
  const Lock lock(mutex_);
  return {recipe_.kind(), what_.owner, plan_.remaining == 0};
}

void ReleaseOperation::time_is_up(TimePoint /*now*/) {
  const Lock lock(mutex_);
  if (finished()) return;
  if (cancelled_) return finish({Verdict::kCancelled});
  go_again();
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
    if (cancelled_) return finish({Verdict::kCancelled});
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
  // Gone, but asked before, and the lease cannot have run out since: the first time has done it.
  const bool done = !reply.is_nil() || (sent_before_ && now() < plan_.trusted);
  if (done) {
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
  context().keeper->lose(name(), what_.owner, reason);
  (void)context().keeper->begin_release(name(), what_.owner, true);
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
    return go_again();
  }
  if (kind == ErrorKind::kPasses && now() < give_up_) return wake_at(after(now(), kRefusedRest));
  // Handing over may need what the server has not (memory); freeing does not.
  if (handing_over) return go_again();
  failed(error_status(text, name(), context().topology->text()));
}

void ReleaseOperation::failed(const Status& why) {
  if (plan_.verdict == Plan::Verdict::kPartial && why.code() != Code::kClosed) {
    // The server need not know the smaller count: the last release frees the lock whatever it is,
    // and says so where it cannot.
    context().keeper->released(name(), what_.owner, plan_);
    return finish({});
  }
  const bool superseded = context().keeper->superseded(name(), what_.owner, plan_);
  if (plan_.verdict == Plan::Verdict::kFinal && !superseded) {
    Undo::submit_late_release(shared_context(), recipe_, {name(), what_.owner, 0}, plan_);
  }
  finish({Verdict::kFailed, why});
}

}  // namespace holdfast::sync
