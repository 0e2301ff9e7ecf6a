#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "net/endpoint.h"

namespace holdfast::net {

using TlsContext = std::shared_ptr<SSL_CTX>;

// What all connections with the same options share: trust store and certificate, read from their
// files when the first of these connections is opened, and again once none is left (so that renewed
// files count then). Thread-safe; a fork()ed child makes its own. The failure names the option.
Result<TlsContext> tls_context(const TlsOptions& options);

// What OpenSSL's error queue of this thread says, which it empties.
std::string tls_error();

}  // namespace holdfast::net
