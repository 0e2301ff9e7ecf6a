#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace holdfast::net {

// The address of one server. Equal are those of the same place, announced or not.
struct Address {
  std::string host;  // a name or an IP literal without brackets; empty for a unix socket
  std::uint16_t port = 6379;
  std::string path;  // of a unix socket
  // Another server has named it, not the user: it may be reachable elsewhere, as an AddressMap
  // says.
  bool announced = false;

  std::string text() const;  // "127.0.0.1:6379", "[::1]:6379", "unix:/tmp/x.sock": for messages
};

inline bool operator==(const Address& one, const Address& other) {
  return one.port == other.port && one.host == other.host && one.path == other.path;
}
inline bool operator!=(const Address& one, const Address& other) { return !(one == other); }

// The trust store and certificate for TLS. Paths of PEM files; without `ca` the system's trust
// store, without `cert` no client certificate, without `key` the private key is in the file `cert`.
struct TlsOptions {
  bool enabled = false;
  bool verify = true;  // certificate and host name
  std::string ca;      // a file, or a directory of certificates by their hashes
  std::string cert;
  std::string key;
  // The system's trust store. Both empty: OpenSSL's built-in default, which is right for the
  // distribution's OpenSSL only, not for a wheel's.
  std::string system_ca_file;
  std::string system_ca_directory;
};

// An empty password means none: nothing is sent as AUTH.
struct Credentials {
  std::string username;
  std::string password;
};

template <typename Value>
class ValueRequest;
using CredentialRequest = ValueRequest<Credentials>;
using AddressRequest = ValueRequest<Address>;

// Called before each attempt to connect, by any thread; return at once. See ValueRequest.
using CredentialSource = std::function<std::shared_ptr<CredentialRequest>()>;
using AddressSource = std::function<std::shared_ptr<AddressRequest>(const Address& announced)>;

// Announced addresses, and where each is reachable.
using AddressTable = std::vector<std::pair<Address, Address>>;

enum class Deployment { kStandalone, kSentinel, kCluster };

// A client's settings for its servers: those of the URL, completed and overridden by keywords.
struct Endpoint {
  Deployment deployment = Deployment::kStandalone;
  std::vector<Address> addresses;  // one for standalone
  std::string service;             // sentinel's name of the primary
  int database = 0;
  Credentials credentials;
  CredentialSource credential_source;  // if set, `credentials` are not used
  Credentials sentinel_credentials;    // of the sentinels, whose users are separate
  TlsOptions tls;
  // Of an AddressMap; both empty: servers are reachable where they are announced.
  AddressTable address_table;
  AddressSource address_source;

  std::string text() const;  // "redis://127.0.0.1:6379/0" without user and password: for messages
};

}  // namespace holdfast::net
