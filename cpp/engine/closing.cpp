#include "engine/closing.h"

#include <utility>

#include "sync/pending_release.h"

namespace holdfast::engine {

namespace {

// Ctrl-C must end the wait within 0.1 s.
constexpr Millis kSlice{50};

Status closed() { return Status::closed("the client was closed"); }

}  // namespace

Closing::Closing(std::shared_ptr<const sync::Context> context) : context_(std::move(context)) {
  over_ = ending_ = context_ == nullptr;
}

std::shared_ptr<Closing> Closing::begin(std::shared_ptr<const sync::Context> context,
                                        const Options& options) {
  const std::shared_ptr<Closing> closing(new Closing(std::move(context)));
  if (!closing->over_) closing->start(options);
  return closing;
}

void Closing::start(const Options& options) {
  const auto self = shared_from_this();
  until_ = after(context_->clock.now(), options.patience);
  context_->keeper->begin_close([self] { self->context_->timers->call(self); });
  context_->waits->closed(closed()).run();
  if (options.release_held) release_held();
  if (context_->keeper->idle()) return end();
  context_->timers->arm(self, until_);
}

void Closing::release_held() {
  for (const lease::LeaseKeeper::Held& held : context_->keeper->held()) {
    const auto plan = context_->keeper->begin_release(held.name, held.owner, true);
    if (plan.verdict != lease::ReleasePlan::Verdict::kFinal) continue;
    // Every hold was granted by a recipe.
    const auto& recipe = static_cast<const sync::Recipe&>(*held.renewal);
    sync::PendingRelease::carry_on(
        context_,
        sync::PendingRelease::release_of(context_, recipe, {held.name, held.owner, 0, {}, plan}),
        plan.ticket, false);
  }
}

// Its time is over, or the keeper says that nothing is under way.
void Closing::on_time() {
  if (context_->clock.now() >= until_ || context_->keeper->idle()) end();
}

void Closing::end() {
  {
    const Guard guard(mutex_);
    if (std::exchange(ending_, true)) return;
  }
  std::vector<std::string> names = context_->keeper->close();
  context_->topology->close(closed());
  context_->waits->closed(closed()).run();
  context_->timers->disarm(*this);
  std::shared_ptr<sync::Completion> completion;
  {
    const Guard guard(mutex_);
    names_ = std::move(names);
    over_ = true;
    completion = std::exchange(completion_, nullptr);
    if (waiting_ != nullptr) waiting_->notify();
  }
  if (completion) completion->done(id_, {});
}

bool Closing::over() const {
  const Guard guard(mutex_);
  return over_;
}

std::optional<sync::Outcome> Closing::wait(sync::Interrupt* interrupt) {
  Parker& parker = Parker::of_this_thread();
  {
    const Guard guard(mutex_);
    waiting_ = &parker;
  }
  bool interrupted = false;
  while (!over() && !interrupted) {
    parker.park(context_->clock, interrupt != nullptr ? context_->clock.now() + kSlice : kNever);
    interrupted = interrupt != nullptr && !over() && interrupt->pending();
  }
  const Guard guard(mutex_);
  waiting_ = nullptr;
  if (interrupted) return std::nullopt;
  return sync::Outcome{};
}

void Closing::finish_to(std::shared_ptr<sync::Completion> completion, std::uint64_t id) {
  {
    const Guard guard(mutex_);
    if (!over_) {
      completion_ = std::move(completion);
      id_ = id;
      return;
    }
  }
  completion->done(id, {});
}

void Closing::cancel() {
  const Guard guard(mutex_);
  completion_.reset();
}

std::vector<std::string> Closing::names() const {
  {
    const Guard guard(mutex_);
    if (over_) return names_;
  }
  std::vector<std::string> names;
  for (const auto& held : context_->keeper->held()) names.push_back(held.name.bytes());
  return names;
}

}  // namespace holdfast::engine
