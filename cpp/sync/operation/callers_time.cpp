#include "sync/operation/callers_time.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "base/shown.h"

namespace holdfast::sync {

namespace {

// For a server that restarts: the wait of a try, which is answered within 0.3 s; and after the
// deadline of a wait, so that its last attempt to connect can still be answered.
constexpr Millis kRestartBriefly{250};
constexpr Millis kLastConnect{150};

std::string seconds_of(Duration time) {
  std::ostringstream text;
  text << std::chrono::duration<double>(time).count() << " s";
  return text.str();
}

}  // namespace

CallersTime::CallersTime(bool blocking, Duration timeout, TimePoint begun) : timeout_(timeout) {
  if (!blocking) {
    connect_deadline_ = after(begun, kRestartBriefly);
    return;
  }
  deadline_ = after(begun, timeout);
  latest_ = after(deadline_, kLateAnswer);
  connect_deadline_ = after(deadline_, kLastConnect);
}

CallersTime CallersTime::within(TimePoint latest) const {
  CallersTime other = *this;
  other.latest_ = std::min(latest_, latest);
  return other;
}

Status CallersTime::late(std::string_view name, const Status& why) const {
  return why.prefixed(quoted(name) + ": no answer within " + seconds_of(timeout_) + ": ");
}

}  // namespace holdfast::sync
