#include "engine/closing.h"

#include <utility>

#include "sync/operation/hold_release.h"

namespace holdfast::engine {

namespace {

// The time for attempts to end once the connections are closed: longer than the pause of an
// attempt.
constexpr Millis kSettling{100};
constexpr Millis kLook{1};

Status closed() { return Status::closed("the client was closed"); }

}  // namespace

Closing::Closing(std::shared_ptr<const sync::Context> context) : context_(std::move(context)) {
  over_ = context_ == nullptr;
}

std::shared_ptr<Closing> Closing::begin(std::shared_ptr<const sync::Context> context,
                                        Options options) {
  const std::shared_ptr<Closing> closing(new Closing(std::move(context)));
  if (closing->context_) closing->start(std::move(options));
  return closing;
}

void Closing::start(Options options) {
  const auto self = shared_from_this();
  until_ = after(context_->clock.now(), options.timeout);
  context_->keeper->begin_close([self] { self->context_->timers->call(self); });
  context_->waits->closed(closed()).run();
  if (options.release_held) release_held();
  {
    const MutexLock guard(mutex_);
    stage_ = Stage::kFinishing;
    usage_ = std::move(options.usage);
    reports_ = std::move(options.reports);
  }
  if (context_->keeper->idle()) return end();
  context_->timers->arm(self, until_);
}

void Closing::release_held() {
  for (const lease::LeaseKeeper::Held& held : context_->keeper->held()) {
    // Only a HoldRecipe makes holds.
    const auto& recipe = static_cast<const sync::HoldRecipe&>(*held.renewal);
    sync::HoldRelease::release_held(
        context_, std::make_shared<sync::Synchronizer>(recipe, held.name), held.owner);
  }
}

// Called when the time is over, or when the keeper reports that no attempt is under way, which may
// happen while start() still looks for holds to release.
void Closing::on_time() {
  Stage stage = Stage::kStarting;
  {
    const MutexLock guard(mutex_);
    stage = stage_;
  }
  if (stage == Stage::kSettling) return settle();
  if (stage != Stage::kFinishing) return;
  if (context_->clock.now() >= until_ || context_->keeper->idle()) end();
}

void Closing::end() {
  {
    const MutexLock guard(mutex_);
    if (stage_ != Stage::kFinishing) return;
    stage_ = Stage::kEnding;
  }
  context_->topology->close(closed());
  context_->waits->closed(closed()).run();
  {
    const MutexLock guard(mutex_);
    settled_by_ = after(context_->clock.now(), kSettling);
    stage_ = Stage::kSettling;
  }
  settle();
}

// An attempt that ends without an answer, or was granted too late, becomes a pending release, and
// so is named. Another thread may still process its answer, or it pauses after a refusal.
void Closing::settle() {
  const TimePoint now = context_->clock.now();
  const bool acquiring = context_->keeper->attempts().any();
  bool waits = false;
  {
    const MutexLock guard(mutex_);
    if (stage_ != Stage::kSettling) return;
    waits = acquiring && now < settled_by_;
    if (!waits) stage_ = Stage::kClosed;
  }
  if (waits) return context_->timers->arm(shared_from_this(), after(now, kLook));
  std::shared_ptr<void> usage;
  std::shared_ptr<void> reports;
  {
    const MutexLock guard(mutex_);
    usage.swap(usage_);
    reports.swap(reports_);
  }
  std::vector<std::string> names = context_->keeper->close(std::move(reports));
  context_->timers->disarm(*this);
  context_->timers->close();
  usage.reset();  // before any caller goes on
  std::shared_ptr<sync::Completion> completion;
  std::uint64_t id = 0;
  {
    const MutexLock guard(mutex_);
    over_ = true;
    names_ = std::move(names);
    completion = std::exchange(completion_, nullptr);
    id = id_;
    if (waiting_ != nullptr) waiting_->notify();
  }
  if (completion) completion->done(id, {});
}

bool Closing::over() const {
  const MutexLock guard(mutex_);
  return over_;
}

std::optional<sync::Outcome> Closing::wait(sync::Interrupt* interrupt) {
  Parker& parker = Parker::of_this_thread();
  {
    const MutexLock guard(mutex_);
    waiting_ = &parker;
  }
  bool interrupted = false;
  while (!over() && !interrupted) {
    parker.park(context_->clock,
                interrupt != nullptr ? context_->clock.now() + sync::kInterruptSlice : kNever);
    interrupted = interrupt != nullptr && !over() && interrupt->pending();
  }
  const MutexLock guard(mutex_);
  waiting_ = nullptr;
  if (interrupted) return std::nullopt;
  return sync::Outcome{};
}

void Closing::serve(Parker& parker, TimePoint slice) {
  if (context_) parker.park(context_->clock, slice);
}

void Closing::finish_to(std::shared_ptr<sync::Completion> completion, std::uint64_t id,
                        Parker* /*reader*/) {
  {
    const MutexLock guard(mutex_);
    if (!over_) {
      completion_ = std::move(completion);
      id_ = id;
      return;
    }
  }
  completion->done(id, {});
}

void Closing::cancel() {
  const MutexLock guard(mutex_);
  completion_.reset();
}

std::vector<std::string> Closing::names() const {
  {
    const MutexLock guard(mutex_);
    if (over_) return names_;
  }
  std::vector<std::string> names;
  for (const auto& held : context_->keeper->held()) names.push_back(held.name.text());
  return names;
}

}  // namespace holdfast::engine
