#pragma once

#include <algorithm>
#include <sstream>
#include <string_view>

#include "redis/base/clock.h"
#include "redis/base/status.h"

namespace holdfast::sync {

// How long after its caller's deadline an acquisition may still wait for an answer. The rest of the
// 0.25 s that are promised is for the way back to the caller.
inline constexpr Millis kLateAnswer{200};

// Whether a caller waits; a wait of no time is a try, as any call that does not wait for an owner.
inline bool is_wait(bool blocking, Duration timeout) {
  return blocking && timeout > Duration::zero();
}

// The time that its caller gives a call, however many exchanges that takes. Whatever the servers
// do, the caller has the outcome by then: a time-out at the deadline where a refusal was seen, else
// a connection error after a moment more, since it is unknown whether another owner holds the lock.
// Without a deadline, and for a try, only the command time-out bounds an exchange. Immutable.
class CallersTime {
 public:
  // Without a deadline.
  CallersTime() = default;
  CallersTime(bool blocking, Duration timeout, TimePoint begun)
      : waits_(is_wait(blocking, timeout)), timeout_(timeout) {
    if (waits_) {
      deadline_ = after(begun, timeout);
      latest_ = after(deadline_, kLateAnswer);
    }
    connect_deadline_ = waits_ ? after(deadline_, kLastConnect) : after(begun, kRestartBriefly);
  }

  // For a caller whose time is over: a moment more.
  static CallersTime over(TimePoint now) {
    CallersTime time;
    time.timeout_ = kLateAnswer;
    time.deadline_ = now;
    time.latest_ = after(now, kLateAnswer);
    time.connect_deadline_ = now;
    return time;
  }

  // This time, where an attempt has to be answered by then.
  CallersTime within(TimePoint latest) const {
    CallersTime other = *this;
    other.latest_ = std::min(latest_, latest);
    return other;
  }

  // Its caller waits for owners.
  bool waits() const { return waits_; }
  // When it times out where a refusal was seen; kNever: without a limit.
  TimePoint deadline() const { return deadline_; }
  // Its last moment in any case.
  TimePoint latest() const { return latest_; }
  // When it ends where it is known at once that there is no server. A server that
  // restarts has until then: a moment for a try, which has no other limit.
  TimePoint connect_deadline() const { return connect_deadline_; }

  // How long a server that refuses to work for the moment is asked again: briefly for a try, enough
  // for the shortest states, such as a slot that moves to another node.
  Millis refusal_budget(Millis command_timeout) const {
    return waits_ ? command_timeout : std::min(command_timeout, kBriefly);
  }

  // Whether that failure, seen now, is of one that was given all its time.
  bool is_late(const Status& why, TimePoint now) const {
    return now >= deadline_ && why.code() == Code::kUnreachable;
  }
  // Then: `why`, with the name and the seconds.
  Status late(std::string_view name, const Status& why) const {
    std::ostringstream seconds;
    seconds << std::chrono::duration<double>(timeout_).count();
    return why.prefixed(quoted(name) + ": no answer within " + seconds.str() + " s: ");
  }

 private:
  // For a server that restarts: the wait of a try, which is answered within 0.3 s; and after the
  // deadline of a wait, so that its last attempt to connect can still be answered.
  static constexpr Millis kRestartBriefly{250};
  static constexpr Millis kBriefly{200};
  static constexpr Millis kLastConnect{150};

  bool waits_ = true;
  TimePoint deadline_ = kNever;
  TimePoint latest_ = kNever;
  TimePoint connect_deadline_ = kNever;
  Duration timeout_{};
};

}  // namespace holdfast::sync
