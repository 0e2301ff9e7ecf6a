#pragma once

#include <string>

namespace holdfast::net {

// The version of the OpenSSL library in use: "3.0.17". Empty: built without TLS.
std::string openssl_version();

}  // namespace holdfast::net
