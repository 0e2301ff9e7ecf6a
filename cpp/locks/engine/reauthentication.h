#pragma once

#include <cstdint>
#include <memory>

#include "locks/base/event.h"
#include "redis/base/mutex.h"
#include "redis/client.h"
#include "redis/net/pollable.h"

namespace holdfast::engine {

// Renews the credentials of a client's open connections: calls their source once in each period for
// all of them, and lets the topology send what it returns. What fails is posted
// (Event::kNotRenewed) and tried again after a tenth of the period (0.1 s to 10 s); the connections
// keep what they have. Without an open connection the source is not called. Thread-safe.
class Reauthentication final : public net::Pollable,
                               public std::enable_shared_from_this<Reauthentication> {
 public:
  struct Setup {
    net::CredentialSource source;
    Millis period;
    Millis timeout;  // for one call of the source
  };

  Reauthentication(const Clock& clock, net::Loop& loop, Setup setup,
                   std::shared_ptr<EventSink> events);

  // The source for connections that are made: the first one begins the period.
  net::CredentialSource source();

  // Once, before the first connection.
  void set_topology(std::weak_ptr<topology::Topology> topology);

  void stop();

  net::Interest step(TimePoint now) override;

 private:
  void call(TimePoint now);
  void take(TimePoint now);
  void send(TimePoint now, const net::Credentials& who);
  void refused(std::uint64_t round, const Status& why) HOLDFAST_EXCLUDES(mutex_);
  void not_later_than(TimePoint at) HOLDFAST_REQUIRES(mutex_);

  const Clock& clock_;
  net::Loop& loop_;
  const Setup setup_;
  const std::shared_ptr<EventSink> events_;
  std::weak_ptr<topology::Topology> topology_;

  // The loop's thread only.
  std::shared_ptr<net::CredentialRequest> request_;
  TimePoint until_ = kNever;  // when the request is given up

  Mutex mutex_;
  TimePoint next_ HOLDFAST_GUARDED_BY(mutex_) = kNever;  // call
  std::uint64_t round_ HOLDFAST_GUARDED_BY(mutex_) =
      0;  // the newest login's number; a refusal ends it
  bool stopped_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::engine
