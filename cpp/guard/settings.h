#pragma once

#include <string>

#include "base/status.h"
#include "net/endpoint.h"
#include "resp/reply.h"

namespace holdfast::guard {

// What the program sends its guard by the pipe: an array of names and values, in RESP, all texts.
// A later one replaces it, for example with another password.
struct Settings {
  net::Address address;  // "host" and "port", or "path"
  net::Credentials credentials;
  std::string database;  // empty: 0
  net::TlsOptions tls;   // "tls" not empty: enabled; "tls_verify" empty: not verified
  std::string publish;   // the command by which scripts publish, as script::Writer has it
};

// kInvalid: the message is no array, or an address or "publish" is missing.
Result<Settings> read_settings(const resp::Reply& message);

}  // namespace holdfast::guard
