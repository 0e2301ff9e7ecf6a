#include "net/value_request.h"

#include <cerrno>
#include <system_error>

#include "base/wake_up.h"

namespace holdfast::net {

RequestSignal::RequestSignal() : ready_(make_wake_up()) {
  if (!ready_.open()) error_ = errno;
}

Status RequestSignal::obstacle() const {
  if (ready_.open()) return {};
  return Status::unreachable("cannot make a descriptor to wait with: " +
                             std::generic_category().message(error_) + " (see ulimit -n)");
}

void RequestSignal::signal() {
  done_ = true;
  if (ready_.open()) wake(ready_.get());
}

}  // namespace holdfast::net
