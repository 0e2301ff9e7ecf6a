#include "locks/sync/operation/acquire.h"

#include <algorithm>
#include <utility>

#include "locks/sync/operation/contended.h"
#include "locks/sync/operation/hold_release.h"
#include "redis/base/mutex.h"

namespace holdfast::sync {

Acquire::Acquire(std::shared_ptr<const Context> context, AcquireRequest request)
    : Operation(std::move(context), request.name(), Role::kAcquire),
      request_(std::move(request)),
      attempt_(
          *this->context().keeper, name(), request_.owner,
          request_.excludes_owner() ? lease::Attempt::Kind::kWhole : lease::Attempt::Kind::kPart) {}

Acquire::~Acquire() = default;

// ---- The first attempt

bool Acquire::begin(TimePoint now) {
  begun_ = now;
  time_ = request_.time(now);
  // Not sent where other waiters of this client are ahead, replicas confirm grants, the client is
  // closed, or the owner is acquiring it already: then nothing is begun.
  const bool waits = context().acknowledger ||
                     !request_.synchronizer->idle(context(), request_.owner, now) ||
                     (!request_.lease.renewed && held_up());
  if (!waits) plan_ = begin_attempt();
  if (waits || plan_.kind != lease::AttemptPlan::Kind::kBegun) {
    contend().begin();
    return false;
  }
  count_ = plan_.count;
  deadline = std::min(after(now, context().command_timeout), time_.latest());
  connect_deadline = request_.connect_deadline.value_or(time_.connect_deadline());
  if (client::RequestPtr said = request_.purpose ? note() : nullptr) {
    // In front of the attempt, in one piece with it where one server has both; else at once, beside
    // it.
    const auto way = context().topology->route(said->key(), topology::Traffic::kCalls);
    if (way.get() == &connection()) {
      ahead = std::move(said);
    } else {
      (void)way->submit(std::move(said));
    }
  }
  return true;
}

void Acquire::write(script::Writer& out) const {
  const AcquireRequest& request = this->request();
  const StepOptions options = request.step_options();
  sent_setup_ = options.setup;
  recipe().steps.acquire.write(
      out, {name(), {context().client_id, request.owner}, count_, request.lease.time, options});
}

// Permits are no holds of an owner that observers could follow.
Exchange::About Acquire::about() {
  return {recipe().traits.kind, recipe().traits.has_permits ? OwnerNumber{} : request().owner};
}

bool Acquire::granted(resp::Reply& reply, const client::Sent& sent) {
  if (reply.is_error()) return false;
  const Answer answer = recipe().acquired(reply);
  if (answer.kind != Answer::Kind::kGranted) return false;
  const TimePoint now = this->now();
  const bool late = recipe().grants_end() && now >= trusted_until(sent.last, request_.lease.time);
  if (late || !keep(count_, sent.last, answer.value, now)) return false;
  report_other(answer);
  attempt_.end();
  AcquireStats(*context().stats, request_).granted(now - begun_);
  if (request_.terms) keep_reply(std::move(reply));
  finish({Verdict::kGranted, {}, answer.value});
  return true;
}

void Acquire::report_other(const Answer& answer) const {
  const SetupPtr& setup = request().setup;
  if (!setup || !answer.other || *answer.other == sent_setup_ || *setup != sent_setup_) return;
  context().keeper->notices.permits(name(), *answer.other, sent_setup_);
}

void Acquire::keep_reply(resp::Reply&& reply) {
  reply_ = std::make_unique<Replies>();
  reply_->one = true;
  reply_->all.emplace_back(std::move(reply));
}

// ---- Each event

void Acquire::answered_here(resp::Reply&& reply, const client::Sent& sent) {
  if (!granted(reply, sent)) contend().complete(std::move(reply), sent);
}

void Acquire::complete(Result<resp::Reply> reply, const client::Sent& sent) {
  Contended* contended = nullptr;
  {
    const MutexLock lock(mutex_);
    if (!contended_ && reply.ok() && granted(reply.value(), sent)) return;
    contended = &contend();
  }
  contended->complete(std::move(reply), sent);
}

void Acquire::cancel() {
  Contended* contended = nullptr;
  {
    const MutexLock lock(mutex_);
    const bool begun = contended_ || attempt_.under_way();
    if (begun) {
      contended = &contend();
    } else if (finished() && !std::exchange(given_back_, true)) {
      give_back();
    }
  }
  if (contended != nullptr) contended->cancel();
}

void Acquire::time_is_up(TimePoint now) {
  Contended* contended = nullptr;
  {
    const MutexLock lock(mutex_);
    contended = contended_.get();
  }
  if (contended != nullptr) contended->time_is_up(now);
}

// A grant that another thread records meanwhile is not the handler's to use: the call, which will
// report it, has not returned.
bool Acquire::stopped_by(Interrupt& interrupt) {
  if (!request().excludes_owner()) return interrupt.pending();
  lease::Attempt call(*context().keeper, name(), request().owner, lease::Attempt::Kind::kAround);
  (void)call.enter(true);
  return interrupt.pending();
}

Acquire::Contended& Acquire::contend() {
  if (!contended_) contended_ = std::make_unique<Contended>(*this, attempt_.under_way());
  return *contended_;
}

// ---- The keeper

lease::AttemptPlan Acquire::begin_attempt() {
  lease::AttemptPlan plan = attempt_.begin();
  if (request_.again) plan.count = std::max(plan.count - 1, 1);  // it is not a further hold
  const HoldRecipe* const holds = recipe().holding;
  // The release by a guard's record would not keep the lock closed.
  if (context().keeper->recorded && holds != nullptr && request_.at_least() == Millis(0)) {
    attempt_.record(*holds, longest_lease(), request_.amount);
  }
  if (plan.noted && !request_.purpose) {
    send_beside(context().keeper->notes.remove(name(), request_.owner));
  }
  return plan;
}

bool Acquire::held_up() const {
  const lease::Keeper& keeper = *context().keeper;
  return keeper.renewal_on_wire(name(), request_.owner) &&
         keeper.count(name(), request_.owner) == 0;
}

bool Acquire::keep(int count, TimePoint sent, std::optional<std::int64_t> token, TimePoint now) {
  lease::Keeper& keeper = *context().keeper;
  const HoldRecipe* const holds = recipe().holding;
  if (holds == nullptr) return recipe().taking == nullptr || !keeper.is_closing();
  lease::Grant granted{
      name(), request_.owner,      count, request_.lease,    sent, holds, request_.listener,
      token,  request_.at_least(), now,   request_.counted()};
  granted.amount = request_.amount;
  if (request_.purpose) granted.purpose = &request_.purpose;
  granted.block = request_.block;
  granted.whole = request_.whole;
  return attempt_.granted(granted);
}

client::RequestPtr Acquire::note(bool granted) const {
  if (!request_.purpose || request_.again) return nullptr;
  return context().keeper->notes.say(
      {name(), request_.owner, request_.purpose, longest_lease(), request_.amount, granted});
}

void Acquire::take_back(int remaining) {
  if (context().keeper->recorded) attempt_.leave_record();
  // A client that closes may have released the owner's earlier holds while the attempt was under
  // way: they do not come back.
  remaining = std::min(remaining, context().keeper->count(name(), request_.owner));
  send_release(request_.owner, remaining, request_.amount);
}

// With `again`, another acquisition gives the hold back.
void Acquire::give_back() const {
  if (request_.again) return;
  if (recipe().holding == nullptr) {
    // Counted until they are given: see AcquireStats::granted().
    const bool taken = request_.counted() && !recipe().grants_end();
    if (taken) context().stats->add(Stats::Counter::kTaken, -request_.amount);
    return send_release(request_.owner, 0, request_.amount);
  }
  if (request_.block) lease::Attempt(*context().keeper, name(), request_.owner).forget_block();
  for (std::int64_t i = 0; i < request_.amount; ++i) {
    const OwnerNumber owner = owner_after(request_.owner, i);
    const auto remaining =
        HoldRelease::give_back(shared_context(), request_.synchronizer,
                               {owner, {lease::Ending::How::kInnermost, request_.whole}});
    if (remaining) send_release(owner, *remaining, 1);
  }
}

void Acquire::send_release(OwnerNumber owner, int remaining, std::int64_t amount) const {
  const TakingRecipe* const taking = recipe().taking;
  if (taking == nullptr) return;
  StepOptions options = request_.step_options();
  options.amount = amount;
  auto write = [context = shared_context(), taking, name = LockName(name()), owner, remaining,
                options, slot = request_.slot](script::Writer& out) {
    taking->release(out, {name, {context->client_id, owner}, remaining, Millis(0), options});
  };
  std::make_shared<StepRelease>(shared_context(), name(), owner,
                                StepRelease::Command{std::move(write)})
      ->take_back(longest_lease());
}

Millis Acquire::longest_lease() const {
  return std::max(request_.lease.time, request_.queue_timeout());
}

}  // namespace holdfast::sync
