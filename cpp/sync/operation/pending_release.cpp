#include "sync/operation/pending_release.h"

#include <utility>

#include "sync/operation/operation.h"

namespace holdfast::sync {

namespace {

constexpr Millis kBackoff{100};

}  // namespace

void add_plan(Step& step, const lease::ReleasePlan& plan, const Context& context) {
  if (step.count > 0) return;
  step.other = plan.other;
  if (plan.closed_until > TimePoint{}) step.stays = plan.closed_for(context.clock.now());
}

PendingRelease::PendingRelease(std::shared_ptr<const Context> context, What what)
    : context_(std::move(context)), what_(std::move(what)) {
  persistent = true;
}

PendingRelease::What PendingRelease::release_of(std::shared_ptr<const Context> context,
                                                const TakingRecipe& recipe, Of what) {
  const LockName name = what.name;
  const OwnerNumber owner = what.owner;
  return {
      name, owner,
      [context = std::move(context), recipe = &recipe, of = std::move(what)](script::Writer& out) {
        Step step{of.name, {context->client_id, of.owner}, of.remaining, Millis(0), of.options};
        add_plan(step, of.plan, *context);
        recipe->release(out, step);
      }};
}

void PendingRelease::take_back(std::shared_ptr<const Context> context, What what, Millis lease) {
  const auto release = std::make_shared<PendingRelease>(std::move(context), std::move(what));
  const Context& with = *release->context_;
  const TimePoint now = with.clock.now();
  release->until_ = surely_over(now, after(now, lease));
  release->serial_ = with.keeper->releases().take_back(release->what_.name, release->what_.owner,
                                                       release, release->until_);
  if (release->serial_ != 0) release->send();
}

void PendingRelease::resume(std::shared_ptr<const Context> context, What what,
                            lease::Releases::Serial serial, bool refused_for_now) {
  const auto release = std::make_shared<PendingRelease>(std::move(context), std::move(what));
  release->serial_ = serial;
  const What& of = release->what_;
  const auto until =
      release->context_->keeper->releases().resume(of.name, of.owner, serial, release);
  if (!until) return;
  release->until_ = *until;
  if (refused_for_now) {
    release->back_off();
  } else {
    release->send();
  }
}

void PendingRelease::give_back(const std::shared_ptr<const Context>& context,
                               const TakingRecipe& recipe, Of of, Millis lease) {
  using Plan = lease::ReleasePlan::Verdict;
  lease::LeaseKeeper& keeper = *context->keeper;
  const LockName name = of.name;
  const OwnerNumber owner = of.owner;
  of.plan = keeper.releases().begin_giving_back(name, owner, false);
  const auto serial = of.plan.serial;
  if (of.plan.verdict == Plan::kPartial) {
    keeper.releases().done(name, owner, of.plan);
    take_back(
        context,
        release_of(context, recipe, {name, owner, of.plan.remaining, of.options, {}, of.slot}),
        lease);
  } else if (of.plan.verdict == Plan::kFinal) {
    resume(context, release_of(context, recipe, std::move(of)), serial, false);
  }
}

resp::ReplyKinds PendingRelease::encode(std::string& out, bool by_text) const {
  script::Writer writer = context_->writer(out, by_text);
  what_.encode(writer);
  return writer.replies();
}

void PendingRelease::on_time() { send(); }

// Not sent if it was revoked, or if the client is closed, whose holds expire.
void PendingRelease::send() {
  deadline = until_;
  const auto connection = context_->topology->route(key(), topology::Traffic::kCalls);
  (void)connection->submit(shared_from_this());
}

void PendingRelease::back_off() {
  context_->timers->arm(shared_from_this(), after(context_->clock.now(), kBackoff));
}

// A counter's step that was certainly not executed may be repeated for the whole time again.
void PendingRelease::remember(const client::Sent& sent, bool refused) {
  if (what_.memory == Millis(0)) return;
  what_.maybe_done = what_.maybe_done || sent.times > (refused ? 1 : 0);
  if (!what_.maybe_done) until_ = after(context_->clock.now(), what_.memory);
}

std::string PendingRelease::refusal(const Result<resp::Reply>& reply) const {
  if (!reply.ok()) return reply.status().message();
  return error_status(reply.value().text(), what_.name, context_->topology->text()).message();
}

void PendingRelease::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  const auto end = [this](End how, const std::string& why = {}) {
    context_->keeper->releases().ended(what_.name, what_.owner, serial_, how, why);
  };
  const bool answered = reply.ok();
  if (answered && !reply.value().is_error()) return end(End::kDone);
  const bool passes =
      answered ? is_temporary(reply.value().text()) : reply.status().code() == Code::kUnreachable;
  remember(sent, answered);
  const Code failure = answered ? Code::kOk : reply.status().code();
  if (failure == Code::kClosed || failure == Code::kRevoked) return;
  if (!passes) return end(End::kRefused, refusal(reply));
  if (context_->clock.now() >= until_) return end(End::kExpired);
  back_off();
}

}  // namespace holdfast::sync
