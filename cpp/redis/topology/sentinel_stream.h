#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/base/mutex.h"
#include "redis/client/reconnecting_stream.h"
#include "redis/net/pollable.h"
#include "redis/topology/sentinel_machine.h"

namespace holdfast::topology {

// The stream to one sentinel, driven by the loop, made again whenever it breaks. It queries the
// service when the stream is up, on request, and whenever the sentinel announces a change of the
// service. So the content of a message does not matter, and a message that was missed while the
// stream was down is compensated.
class SentinelStream final : public net::Pollable,
                             public std::enable_shared_from_this<SentinelStream> {
 public:
  // Called on the loop's thread, without locks held.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_said(const net::Address& sentinel, Opinion opinion) = 0;
    virtual void on_failed(const net::Address& sentinel, const Status& why) = 0;
  };

  // `link`: how to reach the sentinel, and its credentials.
  SentinelStream(net::Loop& loop, client::StreamOptions link, std::string service,
                 std::weak_ptr<Listener> listener, client::ReconnectingStream::Open open = {});

  // Any thread, with any lock held.
  void query();
  void close();

  net::Interest step(TimePoint now) override;

 private:
  struct Requested {
    bool query = false;
    bool close = false;
  };

  void read(TimePoint now, Listener& listener);
  void take(const resp::Reply& reply, TimePoint now, Listener& listener);
  void send_query(TimePoint now);
  void answer(const resp::Reply& reply, TimePoint now, Listener& listener);
  void refused(const std::string& what, const resp::Reply& reply, TimePoint now);
  net::Interest interest() const;

  net::Loop& loop_;
  const std::string service_;
  const net::Address address_;
  const std::weak_ptr<Listener> listener_;

  Mutex mutex_;
  Requested requested_ HOLDFAST_GUARDED_BY(mutex_);

  // The loop's thread only.
  client::ReconnectingStream link_;
  std::string out_;
  bool subscribed_ = false;
  bool again_ = false;          // another query has to follow the current one
  int answers_ = 0;             // outstanding answers to the current query
  TimePoint queried_ = kNever;  // when the current query was sent
  TimePoint back_off_until_{};  // after a refusal, which a reconnection does not change
  Opinion opinion_;
};

}  // namespace holdfast::topology
