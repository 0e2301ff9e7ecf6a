#include "locks/engine/closing.h"

#include <algorithm>
#include <utility>

#include "locks/lease/overview.h"
#include "locks/sync/operation/hold_release.h"
#include "locks/sync/operation/keeping.h"

namespace holdfast::engine {

namespace {

// The time for attempts to end once the connections are closed: longer than the pause of an
// attempt.
constexpr Millis kSettling{100};
constexpr Millis kLook{1};
// For the client's key alone, which ends with its lease, too.
constexpr Millis kKeyTime{200};

Status closed() { return Status::closed("the client was closed"); }

}  // namespace

Closing::Closing(std::shared_ptr<const sync::Context> context, Options options)
    : Exchange(std::move(context)), options_(std::move(options)) {}

std::shared_ptr<Closing> Closing::begin(std::shared_ptr<const sync::Context> context,
                                        Options options) {
  const std::shared_ptr<Closing> closing(new Closing(std::move(context), std::move(options)));
  closing->begin();
  return closing;
}

std::shared_ptr<Closing> Closing::nothing(std::shared_ptr<const sync::Context> context) {
  std::shared_ptr<Closing> closing(new Closing(std::move(context), {}));
  (void)closing->move_on(Stage::kStarting, Stage::kOver);
  return closing;
}

void Closing::begin() {
  context().keeper->begin_close(
      [self = shared_from_this()] { self->context().timers->call(self); });
  context().waits->closed(closed()).run();
  context().keepings->close();
  if (options_.release_held) release_held(false);
  const bool only_key = context().keeper->is_idle();
  release_held(true);
  const Millis timeout = only_key ? std::min(options_.timeout, kKeyTime) : options_.timeout;
  const TimePoint until = after(now(), timeout);
  {
    const MutexLock guard(mutex_);
    until_ = until;
    stage_ = Stage::kFinishing;
  }
  if (context().keeper->is_idle()) return end();
  context().timers->arm(shared_from_this(), until);
}

void Closing::release_held(bool internal) {
  for (const lease::Held& held : lease::all_held(*context().keeper)) {
    if (held.internal != internal) continue;
    // Only a HoldRecipe makes holds.
    const auto& recipe = static_cast<const sync::HoldRecipe&>(*held.renewal);
    sync::HoldRelease::release_held(
        shared_context(), std::make_shared<sync::Synchronizer>(recipe, held.name), held.owner);
  }
}

// Called when the time is over, or when the keeper reports that no attempt is under way, which may
// happen while begin() still looks for holds to release.
void Closing::time_is_up(TimePoint now) {
  settle();
  bool late = false;
  {
    const MutexLock guard(mutex_);
    late = now >= until_;
  }
  if (late || context().keeper->is_idle()) end();
}

// False: another thread has left that stage, or it has not come.
bool Closing::move_on(Stage from, Stage to) {
  const MutexLock guard(mutex_);
  if (stage_ != from) return false;
  stage_ = to;
  return true;
}

void Closing::end() {
  if (!move_on(Stage::kFinishing, Stage::kEnding)) return;
  context().topology->close(closed());
  context().waits->closed(closed()).run();
  settled_by_ = after(now(), kSettling);
  (void)move_on(Stage::kEnding, Stage::kSettling);
  settle();
}

// An attempt that ends without an answer, or was granted too late, becomes a pending release, and
// so is named. Another thread may still process its answer, or it pauses after a refusal.
void Closing::settle() {
  if (!move_on(Stage::kSettling, Stage::kEnding)) return;
  const TimePoint now = this->now();
  if (lease::acquiring(*context().keeper) && now < settled_by_) {
    (void)move_on(Stage::kEnding, Stage::kSettling);
    context().timers->arm(shared_from_this(), after(now, kLook));
    return;
  }
  std::vector<std::string> names = context().keeper->close(std::move(options_.reports));
  context().timers->disarm(*this);
  context().timers->close();
  options_.usage.reset();  // before any caller goes on
  const MutexLock guard(mutex_);
  stage_ = Stage::kOver;
  names_ = std::move(names);
  if (awaited_) finish({});
}

void Closing::start(Parker* /*here*/) {
  const MutexLock guard(mutex_);
  awaited_ = true;
  if (stage_ == Stage::kOver) finish({});
}

std::vector<std::string> Closing::names() {
  {
    const MutexLock guard(mutex_);
    if (stage_ == Stage::kOver) return names_;
  }
  std::vector<std::string> names;
  for (const lease::Held& held : lease::all_held(*context().keeper)) {
    if (!held.internal) names.push_back(held.name.text());
  }
  return names;
}

}  // namespace holdfast::engine
