#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "locks/sync/operation/callers_time.h"
#include "locks/sync/operation/command_replies.h"
#include "locks/sync/operation/operation.h"
#include "redis/client/request.h"

namespace holdfast::sync {

// Plain commands, sent in order to the server of `name`; their replies are kept unchanged, error
// replies included. A reply that the command cannot have (replies_to()) ends the
// connection. After a lost connection a command is sent again, so each of them must be safe to
// repeat. The loop reads the replies.
class CommandOperation final : public Exchange,
                               public std::enable_shared_from_this<CommandOperation> {
 public:
  using Words = std::vector<std::string>;
  // Each command by its words; `commands` is not empty. `time`: what its caller gives it; the
  // command time-out bounds it in any case.
  CommandOperation(std::shared_ptr<const Context> context, LockName name,
                   std::vector<Words> commands, const CallersTime& time)
      : Exchange(std::move(context)),
        name_(std::move(name)),
        commands_(std::move(commands)),
        time_(time) {
    replies_.all.resize(commands_.size());
    for (const Words& words : commands_) replies_.scored.push_back(has_scores(words));
  }

  const LockName& name() const final { return name_; }
  // A reply for each command, in order.
  const Replies* replies() const final { return &replies_; }

  void cancel() final {
    const MutexLock lock(mutex_);
    if (!finished()) end({Verdict::kCancelled});
  }

 private:
  std::shared_ptr<Timed> timed() final { return shared_from_this(); }
  void time_is_up(TimePoint /*now*/) final {}

  void start(Parker* /*here*/) final {
    const auto to = context().topology->route(name_.bytes(), topology::Traffic::kCalls);
    const TimePoint by = std::min(after(now(), context().command_timeout), time_.latest());
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      auto request = std::make_shared<client::PlainRequest>(
          resp::Command(std::vector<std::string_view>(commands_[i].begin(), commands_[i].end())),
          replies_to(commands_[i]),
          [self = shared_from_this(), i](Result<resp::Reply> reply, const client::Sent& /*sent*/) {
            self->answered(i, std::move(reply));
          },
          name_.bytes());
      request->deadline = by;
      request->connect_deadline = time_.connect_deadline();
      {
        const MutexLock lock(mutex_);
        if (finished()) return;
        requests_.push_back(request);
      }
      // The answer may come on this thread, and takes the lock.
      if (const Status refused = to->submit(request); !refused.ok()) return answered(i, refused);
    }
  }

  void answered(std::size_t index, Result<resp::Reply> reply) {
    const MutexLock lock(mutex_);
    if (finished()) return;
    if (!reply.ok()) {
      return end({Verdict::kFailed, unreachable_status(reply.status(), name_, time_, now())});
    }
    replies_.all[index] = std::move(reply.value());
    if (++answered_ == commands_.size()) end({});
  }

  void end(Outcome outcome) HOLDFAST_REQUIRES(mutex_) {
    for (const client::RequestPtr& request : requests_) {
      request->revoke();
      request->abandon();
    }
    requests_.clear();
    finish(std::move(outcome));
  }

  const LockName name_;
  const std::vector<Words> commands_;
  const CallersTime time_;
  Replies replies_;
  std::size_t answered_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::vector<client::RequestPtr> requests_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::sync
