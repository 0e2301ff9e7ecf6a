#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/status.h"
#include "net/descriptor.h"
#include "net/endpoint.h"

namespace holdfast::net {

// The credentials for one attempt to connect, which another thread supplies. The requester waits on
// fd() as on a socket; if it leaves, the answer is dropped.
class CredentialRequest {
 public:
  CredentialRequest();  // done() from the start, with a failure, where there are no descriptors
  CredentialRequest(const CredentialRequest&) = delete;
  CredentialRequest& operator=(const CredentialRequest&) = delete;

  // An eventfd that becomes readable when done() comes true.
  int fd() const { return ready_.get(); }
  bool done() const { return done_; }

  // Once done(): the credentials, or the failure.
  Result<Credentials> take() { return std::move(outcome_); }

  // At most once, from any thread, unless done().
  void answer(Result<Credentials> outcome);

 private:
  std::atomic<bool> done_{false};
  Result<Credentials> outcome_{Credentials{}};
  Descriptor ready_;
};

}  // namespace holdfast::net
