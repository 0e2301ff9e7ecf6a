#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "redis/base/clock.h"
#include "redis/base/status.h"
#include "redis/base/sync_points.h"
#include "redis/client/tracking.h"
#include "redis/resp/command.h"
#include "redis/resp/reply.h"

namespace holdfast::client {

// When a command went out. A command may go out several times: after a lost connection it is sent
// again, and must mean the same.
struct Sent {
  TimePoint last{};  // the moment before the sending that was answered
  int times = 0;
  std::uint64_t stream = 0;  // the last sending's; equal numbers: the same stream
  // Whether the server says when what the command has read changes.
  Tracked tracked = Tracked::kNothing;
  bool repeated = false;  // an earlier sending may have had an effect, and its reply was lost
};

// Between two attempts to log in for requests that await it, and no others.
inline constexpr Millis kLoginPause{1000};

// One command on its way through a Connection, and what to do with its reply.
class Request {
 public:
  virtual ~Request() = default;

  // By which the server that answers is found; always the same.
  virtual std::string_view key() const = 0;

  // The lock or synchronizer that the command is about, for reports; empty: it only serves other
  // commands.
  virtual std::string_view subject() const { return key(); }

  // Appends the encoded command to `out`; the kinds of reply that it can have. `by_text`: a script
  // with its text, for a server that does not know it. Called for each sending, on any thread, with
  // the connection's lock held: it must be quick and take no lock.
  virtual resp::ReplyKinds encode(std::string& out, bool by_text) const = 0;
  // In front of a script's text, called like encode(): appends commands that load what will be
  // needed soon at a server that has lost its scripts. Returns their number; their replies are
  // dropped.
  virtual int preload(std::string& /*out*/) const { return 0; }

  // The reply (an error reply too, else of one of those kinds), or why there is none: kUnreachable
  // or a refused greeting. Called once for each submit(), on any thread, with no lock of the
  // connection held.
  virtual void complete(Result<resp::Reply> reply, const Sent& sent) = 0;

  // The request to send right behind it at the server of an ASK redirection, and behind its
  // script's text; null: none. Quick, and takes no other lock: called with the topology's held, or
  // the connection's.
  virtual std::shared_ptr<Request> follow_up() { return nullptr; }

  // To be set before submit(): until when the connection goes on trying to get a reply.
  TimePoint deadline = kNever;
  // To be set before submit(), the connect deadline: until when the connection waits for a server
  // that refuses connections. Then the refusal is the answer.
  TimePoint connect_deadline = kNever;
  // To be set before submit(): the first attempt to connect that fails is its answer; another
  // connection may work.
  bool impatient = false;
  // To be set before submit(), of a release: that the server refuses the client's password is not
  // its answer before `deadline`. The connection tries again meanwhile, after each kLoginPause.
  bool awaits_login = false;
  // To be set before submit(), of a renewal: it goes the way of the calls, in order with them.
  bool with_calls = false;
  // To be set before submit(), of a command that is sent at once: the moment before it, where its
  // caller has just read the clock and a moment more does not matter.
  TimePoint sent_from = kNever;
  // No caller waits for it: the connection goes on until `deadline` although `retries` are used up.
  SharedAtomic<bool> persistent{false};
  // To be set before submit(): a deferred request that goes out in one piece with the next sending,
  // in front of it; for the same server.
  std::shared_ptr<Request> ahead{};
  // To be set before submit(): when its script's text is sent. kNever: its maker gets the NOSCRIPT
  // error; for a command that must not be overtaken by those of other owners.
  enum class SendsText : std::uint8_t { kIfUnknown, kNever, kAlways };
  SendsText sends_text = SendsText::kIfUnknown;
  // To be set before submit(): its caller waits until the command is written, and not for the
  // reply. It is not gathered with others, and its reply may stay unread for some milliseconds
  // where no thread reads.
  bool deferred = false;
  // The command of such a request is written, perhaps once more after a lost connection. Called on
  // any thread, with the connection's lock held: it takes no lock of an operation. Not called if
  // the reply came first.
  virtual void written() {}

  // Any thread: the request is no longer wanted. Not sent (again) from now on; if it was sent, its
  // reply is still passed to complete().
  void abandon() { abandoned_.store(true, std::memory_order_release); }
  bool abandoned() const { return abandoned_.load(std::memory_order_acquire); }
  void await_again() { abandoned_.store(false, std::memory_order_release); }

  // Any thread, with locks held: it must not be put in line any more, since a later command of its
  // owner is about to be. Where it stands in line it stays. Connection::submit() looks under the
  // lock under which the line is made, so whatever is submitted after revoke() stands behind it.
  // Nor is its script sent again with its text, which would stand behind what is in line by then.
  void revoke() { revoked_.store(true); }
  bool revoked() const { return revoked_.load(); }

 private:
  SharedAtomic<bool> abandoned_{false};
  SharedAtomic<bool> revoked_{false};
};

using RequestPtr = std::shared_ptr<Request>;

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
