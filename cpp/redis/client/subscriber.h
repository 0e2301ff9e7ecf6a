#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "redis/base/mutex.h"
#include "redis/base/sync_points.h"
#include "redis/client/reader_election.h"
#include "redis/client/subscription_stream.h"
#include "redis/net/pollable.h"

namespace holdfast::client {

// The pub/sub connection to one server: any number of channels on one stream.
//
// A ReaderElection decides who reads it: the thread of a waiter, in wait_for_message(), or the
// loop. A thread that waits for a message and reads it itself needs no other thread to wake it.
// Between two waits messages may stay unread for 5 ms, or 0.1 s while the thread looks for signals:
// then the loop wakes the next thread, or reads. Without waiters they stay unread, for the linger
// of their channels. Connecting, subscribing and what needs a timer stay with the loop.
class Subscriber final : public net::Pollable, public std::enable_shared_from_this<Subscriber> {
 public:
  // Called on the loop's thread or on one in wait_for_message().
  using Sink = SubscriptionStream::Sink;

  Subscriber(const Clock& clock, net::Loop& loop, StreamOptions options, std::weak_ptr<Sink> sink,
             ReconnectingStream::Open open = {});

  // To be called before anything else; kClassic by default.
  void set_mode(PubSub mode);

  // Any thread, with any lock held. A second time: on_caught_up().
  void subscribe(const std::string& channel);
  // Asks on_released() once `linger` has passed, of the newest one where there are several.
  void release(const std::string& channel, Duration linger);
  void drop(const std::string& channel);  // it is subscribed to elsewhere: without on_released()
  // As Connection::move(). The channels are subscribed to again where the server is.
  void move(Result<net::Address> to);
  void close();

  // A thread that sleeps until a message concerns it.
  struct Listener {
    Parker& parker;
    const std::string& channel;
    // While it holds what it waited for, no other thread of the channel needs messages.
    bool excludes;
    const ServeControl& control;  // checked after each notify() of `parker`, each batch of messages
  };
  // Blocks the calling thread until it listens no more, or `slice` is over; reads meanwhile, unless
  // another thread does, or the loop has to.
  void wait_for_message(const Listener& listener, TimePoint slice);

  // Any thread, with any lock held: messages have waiters, and must not stay unread.
  void expect();
  // A caller waits for messages that is no thread in wait_for_message(). For the next second
  // the loop reads.
  void listen();
  // Any thread without locks: reads what has come, where there is no reader.
  void catch_up();

  // Any thread: as Connection's. Without RESP3, which allows AUTH on a stream with subscriptions,
  // nothing happens: a stream that the server ends is made anew, with the newer credentials.
  bool reauthenticate(const LoginPtr& login);

  net::Interest step(TimePoint now) override;

 private:
  using Reader = ReaderElection::Reader;
  // An order to the loop, by subscribe() or drop().
  struct Wish {
    std::string channel;
    bool subscribed;
  };
  struct Orders {
    std::vector<Wish> wishes;
    std::vector<std::string> releases;  // whose linger is over
    std::optional<Result<net::Address>> move;
    LoginPtr login;
    PubSub mode = PubSub::kClassic;
    bool closed = false;
  };

  // The loop's.
  Orders due_orders(TimePoint now) HOLDFAST_EXCLUDES(mutex_);
  void find_reader(TimePoint now, const Sink& sink) HOLDFAST_EXCLUDES(mutex_);

  // A thread's in wait_for_message().
  void read(const Listener& listener, TimePoint slice) HOLDFAST_EXCLUDES(mutex_);
  void end_read(const Listener& listener) HOLDFAST_EXCLUDES(mutex_);
  void read_here(TimePoint now) HOLDFAST_EXCLUDES(turn_, mutex_);

  // With the locks held.
  void publish_stream() HOLDFAST_REQUIRES(turn_, mutex_);
  net::Interest interest() HOLDFAST_REQUIRES(turn_, mutex_);
  void perform(const ReaderElection::Action& action) HOLDFAST_REQUIRES(mutex_);
  void drive_at(TimePoint at) HOLDFAST_REQUIRES(mutex_);

  const Clock& clock_;
  net::Loop& loop_;
  const std::weak_ptr<Sink> sink_;

  Mutex turn_;  // held by the thread that uses the stream; taken before all others
  SubscriptionStream stream_ HOLDFAST_GUARDED_BY(turn_);

  Mutex mutex_;
  Orders orders_ HOLDFAST_GUARDED_BY(mutex_);  // not yet taken up
  // When the linger of a channel is over, by its newest release().
  std::map<std::string, TimePoint> releases_ HOLDFAST_GUARDED_BY(mutex_);
  TimePoint armed_ HOLDFAST_GUARDED_BY(mutex_) = kNever;  // the loop's next step, at the latest

  ReaderElection election_ HOLDFAST_GUARDED_BY(mutex_){Reader::kLoop};
  TimePoint shared_until_ HOLDFAST_GUARDED_BY(mutex_){};  // see listen()
  // The stream while it is up. It does not close while a thread polls it.
  std::shared_ptr<net::Transport> watched_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::client
