#include "sync/operation/command_operation.h"

#include <string_view>
#include <utility>

#include "client/request.h"

namespace holdfast::sync {

namespace {

std::vector<resp::Command> encoded(const std::vector<CommandOperation::Words>& commands) {
  std::vector<resp::Command> all;
  all.reserve(commands.size());
  for (const CommandOperation::Words& words : commands) {
    all.emplace_back(std::vector<std::string_view>(words.begin(), words.end()));
  }
  return all;
}

}  // namespace

CommandOperation::CommandOperation(std::shared_ptr<const Context> context, LockName name,
                                   const std::vector<Words>& commands)
    : Operation(std::move(context), std::move(name)),
      commands_(encoded(commands)),
      replies_(commands_.size()),
      missing_(commands_.size()) {}

bool CommandOperation::begin(TimePoint /*now*/) {
  Status failed;
  {
    const MutexLock lock(mutex_);
    failed = deadline == kNever ? submit() : submit(deadline);
  }
  // A follower's answer may come on this thread, and takes the lock.
  if (failed.ok()) failed = submit_followers();
  const MutexLock lock(mutex_);
  if (!failed.ok() && !finished()) finish({Verdict::kFailed, failed});
  return false;
}

Status CommandOperation::submit_followers() {
  const auto self = std::static_pointer_cast<CommandOperation>(shared_from_this());
  const auto connection = context().topology->route(key(), topology::Traffic::kCalls);
  for (std::size_t i = 1; i < commands_.size(); ++i) {
    const auto follower = std::make_shared<client::PlainRequest>(
        commands_[i], resp::ReplyKinds::any(),
        [self, i](Result<resp::Reply> reply, const client::Sent& /*sent*/) {
          self->answered(i, std::move(reply));
        },
        key());
    follower->deadline = deadline;
    {
      const MutexLock lock(mutex_);
      if (finished()) return {};
      followers_.push_back(follower);
    }
    const Status submitted = connection->submit(follower);
    if (!submitted.ok()) return submitted;
  }
  return {};
}

void CommandOperation::cancel() {
  const MutexLock lock(mutex_);
  abandon();
  leave_followers();
}

void CommandOperation::leave_followers() {
  for (const client::RequestPtr& follower : followers_) follower->abandon();
  followers_.clear();
}

resp::ReplyKinds CommandOperation::encode(std::string& out, bool /*by_text*/) const {
  out += commands_.front().bytes();
  return resp::ReplyKinds::any();
}

void CommandOperation::complete(Result<resp::Reply> reply, const client::Sent& /*sent*/) {
  answered(0, std::move(reply));
}

void CommandOperation::answered(std::size_t index, Result<resp::Reply> reply) {
  const MutexLock lock(mutex_);
  if (finished()) return;
  if (!reply.ok()) {
    leave_followers();
    return finish({Verdict::kFailed, unreachable_status(reply.status(), name())});
  }
  replies_[index] = std::move(reply.value());
  if (--missing_ > 0) return;
  followers_.clear();
  finish({Verdict::kGranted});
}

}  // namespace holdfast::sync
