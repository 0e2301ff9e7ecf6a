#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "locks/base/event.h"
#include "locks/lease/hold.h"
#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/base/stats.h"
#include "redis/resp/reply.h"

namespace holdfast::lease {

// An owner of this client that holds a lock, or ended while it held it and left it to its lease.
struct Holder {
  OwnerNumber owner;
  std::string ended;  // what has ended, "thread" or "task"; empty: it holds
};

// The subject of an event: what an owner has, wants or releases.
struct Subject {
  const LockName& name;
  OwnerNumber owner;
  std::string_view kind{};  // as Event::kind_word
};

// Limits a notice to once in a time for each lock, usually a minute. It remembers the latest names
// only, so that with more than kMostNames in that time a notice may be repeated sooner.
// Thread-safe.
class NoticeLimit {
 public:
  static constexpr std::size_t kMostNames = 1000;
  static constexpr Millis kPause{60'000};

  explicit NoticeLimit(Duration pause = kPause) : pause_(pause) {}

  // Whether the notice may be given about this lock now; if so, not again for that time.
  bool admits(const std::string& name, TimePoint now) {
    const MutexLock guard(mutex_);
    while (!notices_.empty() && now - notices_.front().at >= pause_) forget_oldest();
    if (!names_.insert(name).second) return false;
    notices_.push_back({now, name});
    if (notices_.size() > kMostNames) forget_oldest();
    return true;
  }

 private:
  void forget_oldest() HOLDFAST_REQUIRES(mutex_) {
    names_.erase(notices_.front().name);
    notices_.pop_front();
  }

  struct Notice {
    TimePoint at;
    std::string name;
  };
  const Duration pause_;
  Mutex mutex_;
  std::deque<Notice> notices_ HOLDFAST_GUARDED_BY(mutex_);             // the oldest first
  std::unordered_set<std::string> names_ HOLDFAST_GUARDED_BY(mutex_);  // names that were reported
};

// What one client reports of others' holds and settings, as events, so that many waiters do not
// fill a log. Thread-safe.
class Notices {
 public:
  Notices(const Clock& clock, std::shared_ptr<EventSink> sink)
      : clock_(clock), sink_(std::move(sink)) {}

  // The hold that the owner waits for will last suspiciously long; once a minute for a name.
  void overlong(const Subject& subject, Millis remaining);
  // The owner was refused by a key that never expires; once a minute for a name.
  void foreign(const Subject& subject);
  // A semaphore has another number of permits than was wanted; once for the latter.
  void permits(const LockName& name, std::int64_t there, std::int64_t wanted);
  // The server does not take the client's key; once.
  void unlabelled(const std::string& reason);

 private:
  const Clock& clock_;
  const std::shared_ptr<EventSink> sink_;
  NoticeLimit overlong_;
  NoticeLimit foreign_;
  NoticeLimit permits_{kNever - TimePoint{}};
  NoticeLimit unlabelled_{kNever - TimePoint{}};
};

// The reports of one client's holds: events for their listeners and the log, and the client's
// figures. Not thread-safe: see Keeper.
class HoldEvents {
 public:
  HoldEvents(std::shared_ptr<EventSink> sink, std::shared_ptr<Stats> stats)
      : sink_(std::move(sink)), stats_(std::move(stats)) {}

  // A hold's event, for its listeners. The hold's reason is the event's.
  void post(const Hold& hold, Event::Kind kind) const;
  // A deferred release has failed, or goes on in the background.
  void post_unreleased(const Subject& subject, const std::string& reason) const;
  // The client is closed, and its last hold was reported.
  void post_closed() const;
  // Its owner, a thread or task, has ended.
  void abandoned(const Hold& hold, const std::string& what);

  // In the figures, where the hold is among them.
  void count(const Hold& hold, Stats::Counter counter, std::int64_t amount = 1) const;
  // `found`: see Renewal::renewed(); nothing: it was not renewed.
  void count_renewal(const Hold& hold, std::optional<std::int64_t> found) const;
  void count_end(const Hold& hold, TimePoint now) const;  // no effect unless it is held

  // Appends the latest owners that ended while they held it, whose leases are not over.
  void append_ended(std::vector<Holder>& holders, const LockName& name, TimePoint now) const;

 private:
  struct Ended {
    LockName name;
    Holder holder;
    TimePoint until;  // the end of the lease
  };

  const std::shared_ptr<EventSink> sink_;
  const std::shared_ptr<Stats> stats_;
  std::deque<Ended> ended_;  // the oldest first
};

}  // namespace holdfast::lease
