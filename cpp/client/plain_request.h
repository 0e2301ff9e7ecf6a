#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "client/request.h"
#include "resp/command.h"
#include "resp/reply.h"

namespace holdfast::client {

// One command without a script, which serves other commands, and what to do with its reply.
class PlainRequest final : public Request {
 public:
  // As Request::complete().
  using Completed = std::function<void(Result<resp::Reply>, const Sent&)>;
  // `key`: empty: it is for one server only.
  PlainRequest(resp::Command command, resp::ReplyKinds replies, Completed completed,
               std::string_view key = {})
      : command_(std::move(command)),
        replies_(replies),
        completed_(std::move(completed)),
        key_(key) {}

  std::string_view key() const override { return key_; }
  std::string_view subject() const override { return {}; }
  resp::ReplyKinds encode(std::string& out, bool /*by_text*/) const override {
    out += command_.bytes();
    return replies_;
  }
  void complete(Result<resp::Reply> reply, const Sent& sent) override {
    completed_(std::move(reply), sent);
  }

 private:
  const resp::Command command_;
  const resp::ReplyKinds replies_;
  const Completed completed_;
  const std::string key_;
};

}  // namespace holdfast::client
