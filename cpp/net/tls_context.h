#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "net/endpoint.h"

namespace holdfast::net {

using TlsContext = std::shared_ptr<SSL_CTX>;

// The TLS context that all connections with the same options share: trust store and certificate.
// The files are read when the first of these connections is opened, and again after the last one
// has been closed, so that renewed files are noticed. Thread-safe; a fork()ed child makes new ones.
// The failure names the option.
Result<TlsContext> tls_context(const TlsOptions& options);

// The text of OpenSSL's error queue of this thread; empties the queue.
std::string tls_error();

}  // namespace holdfast::net
