#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "redis/base/mutex.h"
#include "redis/base/process.h"
#include "redis/base/status.h"

namespace holdfast::net {

// The address of one server. Equal are those of the same place, announced or not.
struct Address {
  std::string host;  // a name or an IP literal without brackets; empty for a unix socket
  std::uint16_t port = 6379;
  std::string path;  // a unix socket's
  // Another server has named it, not the user: it may be reachable elsewhere, as an AddressMap
  // says.
  bool announced = false;

  std::string text() const;  // "127.0.0.1:6379", "[::1]:6379", "unix:/tmp/x.sock": for messages
};

inline bool operator==(const Address& one, const Address& other) {
  return one.port == other.port && one.host == other.host && one.path == other.path;
}

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

// The part of a ValueRequest that does not depend on the value.
class RequestSignal {
 public:
  // `answered`: signalled from the start. Else with a descriptor, which a process may have run out
  // of.
  explicit RequestSignal(bool answered);
  RequestSignal(const RequestSignal&) = delete;
  RequestSignal& operator=(const RequestSignal&) = delete;

  // A descriptor that becomes readable when done() comes true; -1 where that was so from the start.
  int fd() const { return ready_.get(); }
  bool done() const { return done_; }

 protected:
  ~RequestSignal() = default;
  void signal();

  Status obstacle_;  // why there is no descriptor

 private:
  std::atomic<bool> done_;
  Descriptor ready_;
};

// A value for one attempt to connect, which another thread supplies. The requester waits on fd() as
// on a socket; if it leaves, the answer is dropped.
template <typename Value>
class ValueRequest : public RequestSignal {
 public:
  // done() from the start, with a failure, where there are no descriptors.
  ValueRequest() : RequestSignal(false) {
    if (!obstacle_.ok()) answer(std::move(obstacle_));
  }
  // done() from the start, with this outcome.
  explicit ValueRequest(Result<Value> outcome)
      : RequestSignal(true), outcome_(std::move(outcome)) {}

  // Once done(): the value, or the failure.
  Result<Value> take() { return std::move(outcome_); }

  // At most once, from any thread, unless done().
  void answer(Result<Value> outcome) {
    outcome_ = std::move(outcome);
    signal();
  }

 private:
  Result<Value> outcome_{Value{}};
};

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
  Credentials sentinel_credentials;    // the sentinels', whose users are separate
  TlsOptions tls;
  // The arguments of an AddressMap; both empty: servers are reachable where they are announced.
  AddressTable address_table;
  AddressSource address_source;

  std::string text() const;  // "redis://127.0.0.1:6379/0" without user and password: for messages
};

// Where the servers that other servers announce are reachable from here, behind NAT for example: by
// a table, or by a source. What has no entry in the table is reachable where it is announced.
// Thread-safe.
class AddressMap {
 public:
  // Results of a source that known() has at most.
  static constexpr std::size_t kMostKnown = 64;

  AddressMap(AddressTable table, AddressSource source)
      : source_(std::move(source)), known_(std::move(table)) {}

  // For one attempt to connect; returns at once.
  std::shared_ptr<AddressRequest> request(const Address& announced);

  // The answer to a request.
  void note(const Address& announced, const Address& reachable) HOLDFAST_EXCLUDES(mutex_);

  // The table; of a source, the newest answers.
  AddressTable known() const HOLDFAST_EXCLUDES(mutex_);

 private:
  const AddressSource source_;  // empty: the table says all
  mutable Mutex mutex_;
  AddressTable known_ HOLDFAST_GUARDED_BY(mutex_);
};

// Where the table says that `announced` is reachable.
const Address& mapped(const AddressTable& table, const Address& announced);

}  // namespace holdfast::net
