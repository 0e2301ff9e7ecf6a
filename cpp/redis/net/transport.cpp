#include "redis/net/transport.h"

#include <utility>

#include "redis/net/socket_transport.h"
#ifdef HOLDFAST_HAVE_TLS
#include <openssl/crypto.h>

#include "redis/net/tls_transport.h"
#endif

namespace holdfast::net {

std::unique_ptr<Transport> open_transport(const Address& address, const TlsOptions& tls,
                                          Millis user_timeout,
                                          std::shared_ptr<AddressMemory> memory) {
  if (!tls.enabled) {
    return std::make_unique<SocketTransport>(address, user_timeout, std::move(memory));
  }
#ifdef HOLDFAST_HAVE_TLS
  return std::make_unique<TlsTransport>(address, tls, user_timeout, std::move(memory));
#else
  Status why = Status::unreachable("cannot connect to " + address.text() +
                                   " over TLS: holdfast was built without OpenSSL (install its "
                                   "headers and build holdfast again)");
  return std::make_unique<SocketTransport>(
      address.text(), std::make_shared<Resolution>(std::move(why)), user_timeout);
#endif
}

std::string openssl_version() {
#ifdef HOLDFAST_HAVE_TLS
  // "OpenSSL 3.0.17 1 Jul 2025", to which distributions append more.
  const std::string text = OpenSSL_version(OPENSSL_VERSION);
  const std::size_t start = text.find(' ');
  if (start == std::string::npos) return text;
  return text.substr(start + 1, text.find(' ', start + 1) - start - 1);
#else
  return {};
#endif
}

}  // namespace holdfast::net
