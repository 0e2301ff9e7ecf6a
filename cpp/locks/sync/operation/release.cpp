#include "locks/sync/operation/release.h"

#include <algorithm>
#include <utility>

#include "redis/base/mutex.h"

namespace holdfast::sync {

namespace {

// Between two sendings of a release without a caller.
constexpr Millis kPendingBackoff{100};

}  // namespace

void Release::run_alone(TimePoint until) {
  const MutexLock lock(mutex_);
  until_ = until;
  go_on();
}

void Release::take_back(Millis lease) {
  const TimePoint start = now();
  const TimePoint until = surely_over(start, after(start, lease));
  lease::Releases& releases = context().keeper->releases;
  if (releases.take_back(name(), owner_, shared_from_this(), until)) run_alone(until);
}

// Without a caller.
void Release::go_on() {
  caller_ = {};
  life_ = Life::kPending;
  persistent = true;
  deferred = false;
  sends_text = SendsText::kIfUnknown;
  return backing_off_ ? rest() : send();
}

void Release::cancel() {
  const MutexLock lock(mutex_);
  if (finished() || life_ != Life::kAwaited) return;
  cancelled_ = true;
  if (!backing_off_) return;  // complete() follows
  finish({Verdict::kCancelled});
  go_on();
}

// Not in line where a newer command of its owner acts, or the client is closed, whose holds expire.
void Release::send() {
  wake_at(kNever);
  backing_off_ = false;
  const Status refused = life_ == Life::kPending ? submit(until_) : submit();
  if (!refused.ok()) failed(refused);
}

void Release::back_off(TimePoint until) {
  backing_off_ = true;
  again_ = until;
  rest();
}

TimePoint Release::end_of_time() const { return life_ == Life::kPending ? until_ : give_up_; }

void Release::rest() { wake_at(std::min(again_, end_of_time())); }

void Release::time_is_up(TimePoint /*now*/) {
  const MutexLock lock(mutex_);
  if (!backing_off_) return;
  if (now() >= again_) return send();
  if (now() < end_of_time()) return rest();  // it was up for what it did before
  life_ == Life::kPending ? ended(End::kExpired) : leave_pending(refusal_);
}

void Release::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  const MutexLock lock(mutex_);
  judge(reply, sent);
}

void Release::judge(const Result<resp::Reply>& reply, const client::Sent& sent) {
  if (!reply.ok()) return failed(reply.status());
  if (reply.value().is_error()) return refused(reply.value().text());
  answered(reply.value(), sent);
}

void Release::ended(End how, const std::string& why) {
  context().keeper->releases.ended(name(), owner_, this, how, why);
}

void Release::refused(std::string_view text) {
  turned_away(error_status(text, name(), context().topology->text()));
}

void Release::turned_away(const Status& why) {
  const resp::Pace pace = resp::pace_of_release(why.word());
  if (pace == resp::Pace::kNever) return refused_for_good(why);
  refusal_ = why;
  if (life_ == Life::kPending && now() >= until_) return ended(End::kExpired);
  const Millis soon = life_ == Life::kPending ? kPendingBackoff : kRefusalBackoff;
  back_off(after(now(), pace == resp::Pace::kSoon ? soon : client::kLoginPause));
  if (life_ != Life::kPending && !tries_again()) leave_pending(why);
}

void Release::refused_for_good(const Status& why) {
  ended(End::kRefused, why.message());
  finish({Verdict::kFailed, why});
}

// Revoked, its owner has acquired the lock again, and the result of that counts.
void Release::failed(const Status& why) {
  const Code code = why.code();
  if (code == Code::kRevoked) return finish({});
  const Status named = unreachable_status(why, name());
  if (code == Code::kClosed) return finish({Verdict::kFailed, named});  // its entry stays
  if (code == Code::kServer) return turned_away(named);
  if (life_ != Life::kPending) return leave_pending(named);
  if (code != Code::kUnreachable) return refused_for_good(named);
  now() < until_ ? back_off(after(now(), kPendingBackoff)) : ended(End::kExpired);
}

void Release::leave_pending(const Status& why) {
  finish({Verdict::kFailed, why.followed("; the release goes on in the background")});
  go_on();
}

StepRelease::StepRelease(std::shared_ptr<const Context> context, const LockName& name,
                         OwnerNumber owner, Command command)
    : Release(std::move(context), name, owner), command_(std::move(command)) {}

bool StepRelease::begin(TimePoint now) {
  const Millis lasts =
      command_.lease > Millis(0) ? command_.lease : context().command_timeout + command_.memory;
  until_ = after(now, lasts);
  deadline = give_up_ = after(now, context().command_timeout);
  (void)context().keeper->releases.take_back(name(), owner_, shared_from_this(), until_);
  return true;
}

void StepRelease::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  const MutexLock lock(mutex_);
  const bool refusal = reply.ok() && reply.value().is_error();
  maybe_done_ = maybe_done_ || sent.times > (refusal ? 1 : 0);
  // A step that was certainly not executed may be repeated for the whole time again.
  const bool renews = life_ == Life::kPending && command_.memory > Millis(0) && !maybe_done_;
  if (renews) until_ = after(now(), command_.memory);
  judge(reply, sent);
}

void StepRelease::answered(const resp::Reply& reply, const client::Sent& sent) {
  ended(End::kDone);
  std::optional<std::int64_t> value = number_of(reply);
  if (command_.answered) command_.answered(value, sent);
  finish({Verdict::kGranted, {}, value});
}

// Its caller knows, if it has one.
void StepRelease::refused_for_good(const Status& why) {
  if (life_ == Life::kPending) return Release::refused_for_good(why);
  ended(End::kDone);
  finish({Verdict::kFailed, why});
}

}  // namespace holdfast::sync
