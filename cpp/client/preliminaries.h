#pragma once

#include <memory>

#include "base/status.h"
#include "net/value_request.h"

namespace holdfast::client {

struct StreamOptions;

// What an attempt to connect needs first, and what other threads may have to supply: where a server
// that was announced is reachable, and the credentials. One thread at a time.
//
// A server is known by the address that a server has announced everywhere else: two of them may be
// mapped to one address for a moment, and would be one. And a thread that reads replies cannot wait
// for a map that is a function of Python.
class Preliminaries {
 public:
  // Requests both, for `options.given`.
  void begin(const StreamOptions& options);

  // Takes what has come into `options.address` and `credentials`, and drops the requests for it.
  // Not OK: one was answered by a failure.
  Status take(StreamOptions& options, net::Credentials& credentials);

  // Something has not come.
  bool pending() const { return address_ || credentials_; }
  // Becomes readable when take() is of use.
  int fd() const { return address_ ? address_->fd() : credentials_->fd(); }
  // What has not come: "address", "password".
  const char* missing() const { return address_ ? "address" : "password"; }

  void drop();

 private:
  std::shared_ptr<net::AddressRequest> address_;
  std::shared_ptr<net::CredentialRequest> credentials_;
};

}  // namespace holdfast::client
