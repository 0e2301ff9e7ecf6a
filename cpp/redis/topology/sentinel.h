#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "redis/base/mutex.h"
#include "redis/client/reconnecting_stream.h"
#include "redis/net/pollable.h"
#include "redis/topology/sentinel_machine.h"
#include "redis/topology/sentinel_stream.h"
#include "redis/topology/server_links.h"
#include "redis/topology/topology.h"

namespace holdfast::topology {

// Watches the sentinels of a service, from start() to close(), and reports its primary. It has the
// streams and the timer of a SentinelMachine. Thread-safe.
class SentinelWatch final : public net::Pollable,
                            public SentinelStream::Listener,
                            public std::enable_shared_from_this<SentinelWatch> {
 public:
  struct Setup {
    client::StreamOptions link;  // each sentinel's, except for its address
    std::string service;
    std::vector<net::Address> sentinels;
    std::optional<net::Address> primary{};    // known already
    client::ReconnectingStream::Open open{};  // tests: how to open a stream
  };

  SentinelWatch(const Clock& clock, net::Loop& loop, Setup setup);

  // Called with the new primary, or when none is known, and why. Any thread, in order, with the
  // lock of the watch held: it must not call back.
  using Move = std::function<void(const Result<net::Address>&)>;

  // Once.
  void start(Move move);
  // The primary cannot be reached, or is not a primary: queries the sentinels. No Replacement does
  // this: it connects to the same address once more, while the next primary of a service has
  // another one, which its sentinels know. What was refused waits until they name it, and no caller
  // gets the refusal: so the stream ends at once, also where there is no other primary yet.
  void doubt();
  void close();

  std::string text() const;  // the service and its primary, for messages

  void on_said(const net::Address& sentinel, Opinion opinion) override;
  void on_failed(const net::Address& sentinel, const Status& why) override;
  net::Interest step(TimePoint now) override;

 private:
  void apply(const SentinelMachine::Actions& actions) HOLDFAST_REQUIRES(mutex_);

  const Clock& clock_;
  net::Loop& loop_;
  const Setup setup_;

  mutable Mutex mutex_;
  Move move_ HOLDFAST_GUARDED_BY(mutex_);
  SentinelMachine machine_ HOLDFAST_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<SentinelStream>> streams_
      HOLDFAST_GUARDED_BY(mutex_);  // by address
  bool closed_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

// The primary of a service, as the sentinels name it: the connections of one server, which move
// when the primary does. The sentinels are watched from the first use on.
class Sentinel final : public SingleServer {
 public:
  static std::shared_ptr<Sentinel> make(const Clock& clock, const Loops& loops, const Setup& setup);
  Sentinel(std::shared_ptr<SentinelWatch> watch, ServerLinks links);

  std::shared_ptr<client::Connection> route(std::string_view key, Traffic traffic) override;
  void subscribe(const std::string& channel) override;
  std::string text() const override { return watch_->text(); }
  void close(const Status& why) override;

 private:
  void start();

  const std::shared_ptr<SentinelWatch> watch_;
  std::once_flag started_;
};

}  // namespace holdfast::topology
