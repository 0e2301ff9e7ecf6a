#include "sync/call/first_release.h"

#include <string>
#include <utility>

namespace holdfast::sync {

FirstStep FirstRelease::begin(TimePoint now, const client::RequestPtr& command) {
  using Caller = lease::Releases::Caller;
  begun_ = now;
  lease::Releases& releases = context_->keeper->releases();
  const Caller caller = what_.deferred ? Caller::kMayLeave : Caller::kAwaits;
  plan_ = what_.block ? releases.end_block(name(), what_.owner, command, caller)
                      : releases.begin(name(), what_.owner, what_.all, command, caller);
  const bool sends = is_last() ? synchronizer_->idle(*context_, what_.owner)
                               : plan_.verdict == lease::ReleasePlan::Verdict::kPartial;
  return {sends, kNever, what_.deferred && is_last()};
}

resp::ReplyKinds FirstRelease::encode(std::string& out, bool by_text) const {
  Step step{name(), {context_->client_id, what_.owner}, plan_.remaining};
  add_plan(step, plan_, *context_);
  script::Writer writer = context_->writer(out, by_text);
  synchronizer_->recipe().taking()->release(writer, step);
  return writer.replies();
}

std::optional<Outcome> FirstRelease::finish(const resp::Reply& reply, const client::Sent& /*sent*/,
                                            wait::Calls& calls) {
  if (!reply.is_integer()) return std::nullopt;
  context_->keeper->releases().done(name(), what_.owner, plan_);
  // Without waiters there is nothing to do: spares the channel.
  if (reply.integer() == 1 && context_->waits->idle()) return Outcome{};
  calls = ReleaseOperation::published(*context_, synchronizer_->recipe(), synchronizer_->channel(),
                                      reply.integer());
  return Outcome{};
}

OperationPtr FirstRelease::operation(bool /*sent*/) {
  return std::make_shared<ReleaseOperation>(context_, synchronizer_, what_,
                                            ReleaseOperation::Begun{plan_, begun_});
}

bool FirstRelease::leave() {
  plan_.deferred = context_->keeper->releases().defer(name(), what_.owner, plan_.serial);
  return plan_.deferred != nullptr;
}

}  // namespace holdfast::sync
