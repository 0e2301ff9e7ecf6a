#include "sync/operation/callers_time.h"

#include <sstream>
#include <string>

#include "base/shown.h"

namespace holdfast::sync {

namespace {

std::string seconds_of(Duration time) {
  std::ostringstream text;
  text << std::chrono::duration<double>(time).count() << " s";
  return text.str();
}

}  // namespace

Status CallersTime::late(std::string_view name, const Status& why) const {
  return why.prefixed(quoted(name) + ": no answer within " + seconds_of(timeout_) + ": ");
}

}  // namespace holdfast::sync
