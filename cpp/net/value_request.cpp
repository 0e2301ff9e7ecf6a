#include "net/value_request.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>

namespace holdfast::net {

RequestSignal::RequestSignal() : ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!ready_.open()) error_ = errno;
}

Status RequestSignal::obstacle() const {
  if (ready_.open()) return {};
  return Status::unreachable(
      "nothing can be waited for: " + std::generic_category().message(error_) + " (see ulimit -n)");
}

void RequestSignal::signal() {
  done_ = true;
  if (ready_.open()) eventfd_write(ready_.get(), 1);
}

}  // namespace holdfast::net
