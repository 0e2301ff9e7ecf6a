#include "net/version.h"

#ifdef HOLDFAST_HAVE_TLS
#include <openssl/crypto.h>
#endif

namespace holdfast::net {

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
