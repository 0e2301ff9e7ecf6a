#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "resp/command.h"
#include "resp/reply.h"
#include "sync/operation/operation.h"

namespace holdfast::sync {

// Plain commands, sent in order to the server of `name`; their replies are kept unchanged, error
// replies included. After a lost connection a command is sent again, so each of them must be safe
// to repeat.
class CommandOperation final : public Operation {
 public:
  using Words = std::vector<std::string>;
  // Each command by its words; `commands` is not empty. A deadline that is set before the beginning
  // is that of each; without one, each has the command timeout.
  CommandOperation(std::shared_ptr<const Context> context, LockName name,
                   const std::vector<Words>& commands);

  // After the end with kGranted: a reply for each command, in order.
  const std::vector<std::optional<resp::Reply>>& replies() const { return replies_; }

  void cancel() override;

  resp::ReplyKinds encode(std::string& out, bool /*by_text*/) const override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

 private:
  bool begin(TimePoint now) override;
  void time_is_up(TimePoint /*now*/) override {}
  Status submit_followers() HOLDFAST_EXCLUDES(mutex_);
  void leave_followers() HOLDFAST_REQUIRES(mutex_);
  void answered(std::size_t index, Result<resp::Reply> reply);

  const std::vector<resp::Command> commands_;
  std::vector<std::optional<resp::Reply>> replies_;
  std::size_t missing_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<client::RequestPtr> followers_
      HOLDFAST_GUARDED_BY(mutex_);  // of all commands but the first
};

}  // namespace holdfast::sync
