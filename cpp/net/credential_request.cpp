#include "net/credential_request.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace holdfast::net {

CredentialRequest::CredentialRequest() : ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (ready_.open()) return;
  answer(Status::unreachable("no credentials: " + std::generic_category().message(errno) +
                             " (see ulimit -n)"));
}

void CredentialRequest::answer(Result<Credentials> outcome) {
  outcome_ = std::move(outcome);
  done_ = true;
  if (ready_.open()) eventfd_write(ready_.get(), 1);
}

}  // namespace holdfast::net
