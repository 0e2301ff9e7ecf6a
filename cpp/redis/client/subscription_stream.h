#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/client/login.h"
#include "redis/client/reconnecting_stream.h"
#include "redis/net/pollable.h"

namespace holdfast::client {

// How channels are published on and subscribed to: PUBLISH and SUBSCRIBE, the sharded SPUBLISH and
// SSUBSCRIBE, which a cluster keeps within the servers of one slot, or both ways at once.
enum class PubSub { kClassic, kSharded, kBoth };

// The channels of a Subscriber on their stream: it connects, subscribes, reads the messages, and
// after a broken stream subscribes to all channels again. One thread at a time; it never blocks.
class SubscriptionStream {
 public:
  // Called by the thread that advances the stream; with no locks held but the Subscriber's turn.
  class Sink {
   public:
    virtual ~Sink() = default;
    // From now on messages arrive that are newer than `requested`, when the command was sent.
    // `fresh`: some may have been missed, as after a reconnection; else it had been subscribed to.
    virtual void on_subscribed(const std::string& channel, TimePoint requested, bool fresh) = 0;
    virtual void on_message(const std::string& channel, std::string_view payload) = 0;
    // The server refuses this channel: an ACL, or longer than the command timeout a state that
    // passes (BUSY, for example).
    virtual void on_refused(const std::string& channel, const Status& why) = 0;
    // No answer for longer than the command time-out, or the greeting was refused: notify the
    // waiters of these channels, which are all of this server.
    virtual void on_unreachable(const std::set<std::string>& channels, const Status& why) = 0;
    // The server refuses the channel, or has ended its subscription (then `error` is empty): true
    // when it is subscribed to elsewhere, or later. Asked before on_refused().
    virtual bool on_redirected(const std::string& /*channel*/, std::string_view /*error*/) {
      return false;
    }
    virtual void on_failed() {}  // an attempt to connect failed
    // The linger of a channel is over: true to unsubscribe, false when it is needed again.
    virtual bool on_released(const std::string& channel) = 0;
    virtual void on_lost() = 0;  // a stream that had been ready broke
    // Whether messages have more waiters than that.
    virtual bool has_waiters(std::size_t besides) const { return besides == 0; }
  };

  SubscriptionStream(const Clock& clock, StreamOptions options, ReconnectingStream::Open open);

  // To be called before anything else; kClassic by default.
  void set_mode(PubSub mode) { mode_ = mode; }

  void subscribe(const std::string& channel);
  void unsubscribe(const std::string& channel);
  bool has(const std::string& channel) const { return channels_.count(channel) != 0; }
  void move(TimePoint now, Result<net::Address> to);
  // While the stream is up, with RESP3; see Subscriber.
  void reauthenticate(TimePoint now, LoginPtr login);
  // Also ends attempts to connect.
  void close();

  // Makes what progress it can: connects, reads, writes.
  void advance(TimePoint now, Sink& sink);
  // The event that it waits for now.
  net::Interest interest() const;

  // While the stream is up, else null.
  std::shared_ptr<net::Transport> transport() const { return link_.transport(); }
  // Commands were sent whose replies have not come.
  bool awaits_replies() const { return !awaited_.empty(); }
  // Not connected, and without a channel there is nothing to connect for. A stream that is up is
  // kept.
  bool idle() const {
    return link_.state() != ReconnectingStream::State::kReady && channels_.empty();
  }

 private:
  struct Awaited {
    std::string_view command;
    std::string channel;
    TimePoint requested;

    bool leaves() const { return command == "UNSUBSCRIBE" || command == "SUNSUBSCRIBE"; }
  };

  void read(TimePoint now, Sink& sink);
  void say(bool subscribe, const std::string& channel);
  void send(std::string_view command, const std::string& channel);
  void forget_ways(const std::string& channel);
  void end(const std::string& channel);
  bool refused(const std::string& text, Sink& sink);
  void confirmed(std::string_view kind, const std::string& channel, Sink& sink);
  bool take(const resp::Reply& reply, Sink& sink);
  void lost(TimePoint now, Sink& sink);
  void forget_stream(TimePoint now);
  void judge(TimePoint now, Sink& sink);

  const Clock& clock_;
  PubSub mode_ = PubSub::kClassic;
  ReconnectingStream link_;
  std::set<std::string> channels_;
  std::set<std::pair<std::string, std::string>>
      subscribed_;               // way, channel: what this stream brings
  std::deque<Awaited> awaited_;  // sent and not yet answered, in order
  // Channels that the server refused for a moment, and when to ask for them again.
  struct Refusal {
    TimePoint since;
    TimePoint again;
  };
  std::map<std::string, Refusal> refusals_;
  std::string out_;
  LoginPtr login_;  // the newest that was sent
  TimePoint last_read_{};
  TimePoint down_since_ = kNever;  // there are channels, and no server that answers
};

}  // namespace holdfast::client
