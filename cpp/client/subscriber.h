#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "client/reconnecting_stream.h"
#include "net/loop.h"
#include "net/pollable.h"

namespace holdfast::client {

// How channels are published on and subscribed to: PUBLISH and SUBSCRIBE, the sharded SPUBLISH and
// SSUBSCRIBE, which a cluster keeps within the servers of one slot, or both ways at once.
enum class PubSub { kClassic, kSharded, kBoth };

// The pub/sub connection to one server: any number of channels on one stream, driven by the loop.
// After a broken stream it subscribes to all of them again.
class Subscriber final : public net::Pollable, public std::enable_shared_from_this<Subscriber> {
 public:
  // Called on the loop's thread, without locks held.
  class Sink {
   public:
    virtual ~Sink() = default;
    // From now on messages arrive; also after each reconnection, when some may have been missed.
    // All that arrive are newer than `asked`, when the server was asked for them.
    virtual void on_subscribed(const std::string& channel, TimePoint asked) = 0;
    // It had been subscribed to already: none was missed, and what arrives now is newer than
    // `asked`.
    virtual void on_caught_up(const std::string& channel, TimePoint asked) = 0;
    virtual void on_message(const std::string& channel, std::string_view payload) = 0;
    // The server refuses this channel: an ACL, or longer than the command timeout a state that
    // passes (BUSY, for example).
    virtual void on_refused(const std::string& channel, const Status& why) = 0;
    // No answer for longer than the command time-out, or the greeting was refused: notify every
    // waiter.
    virtual void on_unreachable(const Status& why) = 0;
    // The same, with the channels of this server, where there are others.
    virtual void on_unreachable(const std::set<std::string>& /*channels*/, const Status& why) {
      on_unreachable(why);
    }
    // The server refuses the channel, or has ended its subscription (then `error` is empty): true
    // when it is subscribed to elsewhere, or later. Asked before on_refused().
    virtual bool on_redirected(const std::string& /*channel*/, std::string_view /*error*/) {
      return false;
    }
    virtual void on_failed() {}  // an attempt to connect failed
    // The linger of release() is over: true to unsubscribe, false when the channel is needed again.
    virtual bool on_released(const std::string& channel) = 0;
    virtual void on_lost() = 0;  // a stream that had been ready broke
  };

  Subscriber(const Clock& clock, net::Loop& loop, StreamOptions options, std::weak_ptr<Sink> sink,
             ReconnectingStream::Open open = {});

  // To be called before anything else; kClassic by default.
  void set_mode(PubSub mode) { mode_ = mode; }

  // Any thread, with any lock held. A second time: on_caught_up().
  void subscribe(const std::string& channel);
  // Asks on_released() once `linger` has passed, of the newest one where there are several.
  void release(const std::string& channel, Duration linger);
  void drop(const std::string& channel);  // it is subscribed to elsewhere: without on_released()
  // As Connection::move(). The channels are subscribed to again where the server is.
  void move(Result<net::Address> to);
  void close();

  net::Interest step(TimePoint now) override;

 private:
  struct Awaited {
    std::string_view command;
    std::string channel;
    TimePoint asked;

    bool leaves() const { return command == "UNSUBSCRIBE" || command == "SUNSUBSCRIBE"; }
  };

  bool obey_move(TimePoint now) HOLDFAST_EXCLUDES(mutex_);  // false: closed
  struct Orders {
    std::vector<std::string> subscribes;
    std::vector<std::string> releases;
    std::vector<std::string> drops;
  };
  Orders due_orders(TimePoint now) HOLDFAST_EXCLUDES(mutex_);
  void take_orders(TimePoint now, Sink& sink);
  void connect(TimePoint now, Sink& sink);
  void say(bool subscribe, const std::string& channel);
  void send(std::string_view command, const std::string& channel);
  void forget(const std::string& channel);
  void forget_ways(const std::string& channel);
  void end(const std::string& channel);
  void refused(const std::string& text, Sink& sink);
  bool retries(const std::string& channel, std::string_view word);
  void retry_refused(TimePoint now);
  TimePoint next_retry() const;
  void confirmed(std::string_view kind, const std::string& channel, Sink& sink);
  bool is_left(const std::string& channel) const;
  void subscribed(std::string_view kind, const std::string& channel, TimePoint asked, Sink& sink);
  void write();
  void take(const resp::Reply& reply, Sink& sink);
  void lost(TimePoint now, Sink& sink);
  void forget_stream(TimePoint now);
  void judge(TimePoint now, Sink& sink);
  net::Interest interest();

  const Clock& clock_;
  net::Loop& loop_;
  const std::weak_ptr<Sink> sink_;
  PubSub mode_ = PubSub::kClassic;

  Mutex mutex_;
  std::vector<std::string> subscribes_ HOLDFAST_GUARDED_BY(mutex_);  // asked for, not yet taken up
  // When the linger of a channel is over, by its newest release().
  std::map<std::string, TimePoint> releases_ HOLDFAST_GUARDED_BY(mutex_);
  TimePoint armed_ HOLDFAST_GUARDED_BY(mutex_) = kNever;  // the loop's next step, at the latest
  std::vector<std::string> drops_ HOLDFAST_GUARDED_BY(mutex_);
  std::optional<Result<net::Address>> move_ HOLDFAST_GUARDED_BY(mutex_);
  bool closed_ HOLDFAST_GUARDED_BY(mutex_) = false;

  // The loop's thread only.
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
  TimePoint last_read_{};
  TimePoint down_since_ = kNever;  // there are channels, and no server that answers
};

}  // namespace holdfast::client
