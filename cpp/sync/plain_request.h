#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/parker.h"
#include "base/sync_points.h"
#include "client/connection.h"
#include "client/request.h"
#include "sync/operation.h"

namespace holdfast::sync {

// One command and its reply, of a thread that waits for it: what the plain path (PlainLock) uses
// instead of an operation. It only keeps the reply. A thread has one, and uses it again and again.
class PlainRequest final : public client::Request {
 public:
  // The calling thread's, which no connection refers to any more.
  static std::shared_ptr<PlainRequest> of_this_thread();

  // Before each exchange: the command, in pieces, by which key its server is found, and the kinds
  // of its reply.
  void prepare(std::string_view key, std::initializer_list<std::string_view> command,
               resp::ReplyKinds replies);

  // Sends it and waits. False when `interrupt` (may be null) came first: the reply is still to
  // come, and pass_on() follows.
  static bool exchange(const std::shared_ptr<PlainRequest>& self, client::Connection& connection,
                       const Clock& clock, Interrupt* interrupt);

  // After an exchange(). The reply, where it is nil or an integer.
  const std::optional<resp::PlainReply>& plain() const { return plain_; }
  // Any other reply; null: there is none.
  const resp::Reply* reply() const { return reply_ && reply_->ok() ? &reply_->value() : nullptr; }
  // Any reply, or why there is none.
  Result<resp::Reply> take_reply();
  const client::Sent& sent() const { return sent_; }

  // The waiting thread leaves: `successor` gets the reply. False: it is here already.
  bool pass_on(client::RequestPtr successor);

  std::string_view key() const override { return key_; }
  resp::ReplyKinds encode(std::string& out) const override {
    out += command_;
    return replies_;
  }
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

 private:
  enum class State { kOpen, kAnswered, kPassedOn };

  bool wait(client::Connection& connection, const Clock& clock, Interrupt* interrupt);
  void keep(Result<resp::Reply> reply);

  std::string key_;
  std::string command_;
  resp::ReplyKinds replies_ = resp::ReplyKinds::any();
  Parker* parker_ = nullptr;
  client::ServeControl control_;
  SharedAtomic<State> state_{State::kOpen};
  client::Sent sent_;
  std::optional<resp::PlainReply> plain_;
  std::optional<Result<resp::Reply>> reply_;  // unless it is plain
  client::RequestPtr successor_;
};

}  // namespace holdfast::sync
