#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/client/reconnecting_stream.h"
#include "redis/client/stale_signs.h"
#include "redis/net/pollable.h"
#include "redis/net/resolver.h"

namespace holdfast::topology {

// When to look for the server that has replaced one: the first time at once, then 10 ms to 1 s
// apart, and from a minute after its last write on 10 s. A machine without I/O.
class LookRate {
 public:
  // There was a sign.
  void wish(TimePoint now) {
    wished_ = true;
    if (since_ == kNever) since_ = now;
  }
  bool due(TimePoint now) const { return wished_ && now >= next_; }
  TimePoint until() const { return wished_ ? next_ : kNever; }
  void begin() { wished_ = false; }
  // The look that has begun is over.
  void ended(TimePoint now);
  // A write was accepted.
  void accepted() {
    since_ = kNever;
    looks_ = 0;
  }

 private:
  bool wished_ = false;
  int looks_ = 0;
  TimePoint since_ = kNever;  // the first sign after the last write
  TimePoint next_{};
};

// Finds the server that has replaced the one behind an address which stays, by a connection beside
// those that there are. Thread-safe; start() and close() once each.
//
// Where the server refuses to work, its name is resolved once in a while, and a new address is a
// sign. A sign (StaleSigns) begins a look: the address is resolved anew and a new connection asks
// what is there. Anything but a replica has replaced the old server: `replace` is called, which
// leaves all connections to it, also those whose servers refuse nothing, as subscriptions. A
// replica, and no connection, change nothing: the old server goes on answering, also the requests
// that it refuses.
class Replacement final : public net::Pollable,
                          public client::StaleSigns,
                          public std::enable_shared_from_this<Replacement> {
 public:
  // Whether an error reply is a sign.
  using IsSign = std::function<bool(std::string_view)>;

  // `link`: as that of the connections for calls.
  Replacement(const Clock& clock, net::Loop& loop, client::StreamOptions link, IsSign is_sign,
              client::ReconnectingStream::Open open = {});

  struct Actions {
    std::function<void()> replace;
    std::function<void()> stay;  // a look is over without a result
  };
  // Called on the loop's thread, without locks held.
  void start(Actions actions) HOLDFAST_EXCLUDES(mutex_);
  void close() HOLDFAST_EXCLUDES(mutex_);

  bool is_sign(std::string_view error) const override { return is_sign_(error); }
  std::uint64_t report() override HOLDFAST_EXCLUDES(mutex_);
  bool over(std::uint64_t look) const override HOLDFAST_EXCLUDES(mutex_);
  void accepted() override HOLDFAST_EXCLUDES(mutex_);
  void refused_for_now() override HOLDFAST_EXCLUDES(mutex_);

  net::Interest step(TimePoint now) override;

 private:
  enum class Found { kNothingYet, kServer, kNone };
  Found look(TimePoint now);
  bool begins(TimePoint now) HOLDFAST_EXCLUDES(mutex_);
  void leave_address();
  std::string name() const;
  net::Interest rest(TimePoint now) HOLDFAST_REQUIRES(mutex_);
  void resolve(TimePoint now) HOLDFAST_REQUIRES(mutex_);

  const Clock& clock_;
  net::Loop& loop_;
  const IsSign is_sign_;
  // The loop's thread only.
  client::ReconnectingStream link_;
  std::size_t tried_ = 0;  // addresses, in this look
  std::shared_ptr<net::Resolution> resolution_;

  mutable Mutex mutex_;
  Actions actions_ HOLDFAST_GUARDED_BY(mutex_);
  LookRate rate_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t look_ HOLDFAST_GUARDED_BY(mutex_) = 0;  // the number of the latest one
  bool looks_ HOLDFAST_GUARDED_BY(mutex_) = false;      // it goes on
  bool closed_ HOLDFAST_GUARDED_BY(mutex_) = false;
  // The first and the last of refusals to work that follow each other within a second.
  TimePoint refused_first_ HOLDFAST_GUARDED_BY(mutex_) = {};
  TimePoint refused_last_ HOLDFAST_GUARDED_BY(mutex_) = {};
  bool resolves_ HOLDFAST_GUARDED_BY(mutex_) = false;    // it has lasted for long enough
  TimePoint resolved_ HOLDFAST_GUARDED_BY(mutex_) = {};  // when, last
};

}  // namespace holdfast::topology
