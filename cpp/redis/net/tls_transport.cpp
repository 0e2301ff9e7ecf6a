#include "redis/net/tls_transport.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <new>
#include <system_error>
#include <tuple>
#include <utility>

#include "redis/base/mutex.h"
#include "redis/base/process.h"
#include "redis/net/socket_transport.h"

namespace holdfast::net {

namespace {

// The key of the cache: the options of a context.
using Key = std::tuple<bool, std::string, std::string, std::string, std::string, std::string>;

struct Cache {
  Mutex mutex;
  std::map<Key, std::weak_ptr<SSL_CTX>> contexts HOLDFAST_GUARDED_BY(mutex);
};

Status trust_system(SSL_CTX* context, const TlsOptions& options) {
  const std::string& file = options.system_ca_file;
  const std::string& directory = options.system_ca_directory;
  if (file.empty() && directory.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) == 1) return {};
    return Status::unreachable("the system's trust store cannot be read: " + tls_error());
  }
  if (SSL_CTX_load_verify_locations(context, file.empty() ? nullptr : file.c_str(),
                                    directory.empty() ? nullptr : directory.c_str()) == 1) {
    return {};
  }
  return Status::unreachable("cannot read the system's trust store (SSL_CERT_FILE) from " +
                             (file.empty() ? directory : file) + ": " + tls_error());
}

Status trust(SSL_CTX* context, const std::string& ca) {
  struct stat file {};
  const bool directory = stat(ca.c_str(), &file) == 0 && S_ISDIR(file.st_mode);
  const char* const path = ca.c_str();
  if (SSL_CTX_load_verify_locations(context, directory ? nullptr : path,
                                    directory ? path : nullptr) == 1) {
    return {};
  }
  return Status::unreachable("tls_ca: cannot read certificates from " + ca + ": " + tls_error());
}

Status present(SSL_CTX* context, const TlsOptions& options) {
  if (options.cert.empty()) {
    if (options.key.empty()) return {};
    return Status::unreachable("tls_key is given without tls_cert");
  }
  if (SSL_CTX_use_certificate_chain_file(context, options.cert.c_str()) != 1) {
    return Status::unreachable("tls_cert: cannot read a certificate from " + options.cert + ": " +
                               tls_error());
  }
  const std::string& key = options.key.empty() ? options.cert : options.key;
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return Status::unreachable("tls_key: " + key +
                               " does not contain the certificate's private key, without "
                               "passphrase: " +
                               tls_error());
  }
  return {};
}

Result<TlsContext> make_context(const TlsOptions& options) {
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (context == nullptr)
    return Status::unreachable("OpenSSL cannot create a context: " + tls_error());
  SSL_CTX* const raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(raw, 1);
  // Instead of asking for the passphrase of an encrypted key on the terminal.
  SSL_CTX_set_default_passwd_cb(raw, [](char*, int, int, void*) { return 0; });
  SSL_CTX_set_verify(raw, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (options.verify) {
    Status fault = options.ca.empty() ? trust_system(raw, options) : trust(raw, options.ca);
    if (!fault.ok()) return fault;
  }
  if (Status fault = present(raw, options); !fault.ok()) return fault;
  return context;
}

}  // namespace

Result<TlsContext> tls_context(const TlsOptions& options) {
  Cache& shared = OfProcess<Cache>::instance();
  const MutexLock lock(shared.mutex);
  std::weak_ptr<SSL_CTX>& kept =
      shared.contexts[{options.verify, options.ca, options.cert, options.key,
                       options.system_ca_file, options.system_ca_directory}];
  if (TlsContext context = kept.lock()) return context;
  auto made = make_context(options);
  if (made.ok()) kept = made.value();
  return made;
}

// The system's error says more than those that follow from it.
std::string tls_error() {
  const unsigned long last = ERR_peek_last_error();
  const char* const reason = ERR_reason_error_string(last);
  std::string text = reason != nullptr ? reason : "error " + std::to_string(last);
  while (const unsigned long code = ERR_get_error()) {
    if (ERR_GET_LIB(code) == ERR_LIB_SYS) {
      text = std::generic_category().message(ERR_GET_REASON(code));
    }
  }
  return text;
}

// OpenSSL's own socket BIO would raise SIGPIPE; this one uses the SocketTransport.
struct SocketBio {
  static BIO* make(TlsTransport* transport) {
    static BIO_METHOD* const method = [] {
      BIO_METHOD* const made =
          BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "holdfast socket");
      BIO_meth_set_read(made, read);
      BIO_meth_set_write(made, write);
      BIO_meth_set_ctrl(made, [](BIO*, int command, long, void*) -> long {
        return command == BIO_CTRL_FLUSH ? 1 : 0;
      });
      return made;
    }();
    BIO* const bio = BIO_new(method);
    if (bio == nullptr) throw std::bad_alloc();
    BIO_set_data(bio, transport);
    BIO_set_init(bio, 1);
    return bio;
  }

 private:
  static int read(BIO* bio, char* into, int size) {
    auto* const transport = static_cast<TlsTransport*>(BIO_get_data(bio));
    IoResult result = transport->socket_.read(into, static_cast<std::size_t>(size));
    if (result.io == Io::kDone) transport->answered_ = true;
    return bio_result(bio, std::move(result));
  }

  static int write(BIO* bio, const char* from, int size) {
    auto* const transport = static_cast<TlsTransport*>(BIO_get_data(bio));
    return bio_result(bio, transport->socket_.write(from, static_cast<std::size_t>(size)));
  }

  static int bio_result(BIO* bio, IoResult result) {
    BIO_clear_retry_flags(bio);
    switch (result.io) {
      case Io::kDone:
        return static_cast<int>(result.bytes);
      case Io::kWantRead:
        BIO_set_retry_read(bio);
        return -1;
      case Io::kWantWrite:
        BIO_set_retry_write(bio);
        return -1;
      case Io::kFailed:
        break;
    }
    auto* const transport = static_cast<TlsTransport*>(BIO_get_data(bio));
    transport->socket_failure_ = std::move(result.status);
    return -1;
  }
};

namespace {

// Sets the host that the certificate must name, and that SNI requests.
bool expect_host(SSL* ssl, std::string host, bool verify) {
  host.resize(std::min(host.find('%'), host.size()));  // the zone of an IPv6 address
  if (host.empty()) return false;
  X509_VERIFY_PARAM* const checks = SSL_get0_param(ssl);
  unsigned char address[sizeof(in6_addr)];
  const bool is_ip = inet_pton(AF_INET, host.c_str(), address) == 1 ||
                     inet_pton(AF_INET6, host.c_str(), address) == 1;
  if (is_ip) return !verify || X509_VERIFY_PARAM_set1_ip_asc(checks, host.c_str()) == 1;
  if (SSL_set_tlsext_host_name(ssl, host.c_str()) != 1) return false;
  X509_VERIFY_PARAM_set_hostflags(checks, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return !verify || X509_VERIFY_PARAM_set1_host(checks, host.data(), host.size()) == 1;
}

std::string certificate_hint(long verdict, const TlsOptions& options) {
  if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    return " (the certificate is for another host; connect by the name it was issued for)";
  }
  return options.ca.empty() ? " (if its authority is not in the system's trust store, set tls_ca)"
                            : " (is tls_ca the authority that signed it?)";
}

}  // namespace

TlsTransport::TlsTransport(const Address& address, TlsOptions options, Millis user_timeout,
                           std::shared_ptr<AddressMemory> memory)
    : address_(address),
      options_(std::move(options)),
      socket_(address, user_timeout, std::move(memory)) {}

IoResult TlsTransport::connect() {
  if (connected_) return {};
  if (ssl_ == nullptr) {
    if (IoResult result = socket_.connect(); result.io != Io::kDone) return result;
    if (Status fault = prepare(); !fault.ok()) return {Io::kFailed, 0, std::move(fault)};
  }
  const MutexLock lock(mutex_);
  ERR_clear_error();
  const int returned = SSL_connect(ssl_.get());
  connected_ = returned == 1;
  return result_of(returned, 0);
}

Status TlsTransport::prepare() {
  const std::string where = "cannot connect to " + address_.text() + " over TLS: ";
  auto context = tls_context(options_);
  if (!context.ok()) return context.status().prefixed(where);
  context_ = context.value();
  ssl_.reset(SSL_new(context_.get()));
  if (ssl_ == nullptr || !expect_host(ssl_.get(), address_.host, options_.verify)) {
    return Status::unreachable(where + tls_error());
  }
  BIO* const bio = SocketBio::make(this);
  SSL_set_bio(ssl_.get(), bio, bio);
  return {};
}

IoResult TlsTransport::read(char* into, std::size_t size) {
  const MutexLock lock(mutex_);
  ERR_clear_error();
  std::size_t total = 0;
  while (total < size) {
    std::size_t bytes = 0;
    const int returned = SSL_read_ex(ssl_.get(), into + total, size - total, &bytes);
    if (returned != 1 && total == 0) return result_of(returned, 0);
    if (returned != 1) break;  // the next call returns it again, if it is an error
    total += bytes;
    received_ = true;
  }
  return {Io::kDone, total, {}};
}

IoResult TlsTransport::write(const char* from, std::size_t size) {
  if (size == 0) return {};
  const MutexLock lock(mutex_);
  ERR_clear_error();
  std::size_t bytes = 0;
  const int returned = SSL_write_ex(ssl_.get(), from, size, &bytes);
  return result_of(returned, bytes);
}

IoResult TlsTransport::result_of(int returned, std::size_t bytes) {
  if (returned == 1) return {Io::kDone, bytes, {}};
  const int error = SSL_get_error(ssl_.get(), returned);
  if (error == SSL_ERROR_WANT_READ) return {Io::kWantRead, 0, {}};
  if (error == SSL_ERROR_WANT_WRITE) return {Io::kWantWrite, 0, {}};
  return {Io::kFailed, 0, reason(error)};
}

Status TlsTransport::reason(int error) const {
  if (connected_ && !socket_failure_.ok()) {
    if (received_ || !options_.cert.empty()) return socket_failure_;
    // In TLS 1.3 a client's handshake ends before the server has checked its certificate, and the
    // alert may be lost with the connection.
    return Status::unreachable(socket_failure_.message() +
                               " (does the server require a certificate? see tls_cert)");
  }
  if (error == SSL_ERROR_ZERO_RETURN) {
    return Status::unreachable(address_.text() + " closed the connection");
  }
  const std::string what = connected_ ? "TLS with " + address_.text() + " failed: "
                                      : "cannot connect to " + address_.text() + " over TLS: ";
  if (!socket_failure_.ok()) {
    return Status::unreachable(what + socket_failure_.message() + " (does the port speak TLS?)");
  }
  const long verdict = SSL_get_verify_result(ssl_.get());
  if (options_.verify && verdict != X509_V_OK) {
    return Status::unreachable(what + X509_verify_cert_error_string(verdict) +
                               certificate_hint(verdict, options_));
  }
  const int why = ERR_GET_REASON(ERR_peek_last_error());
  if (!connected_ && why == SSL_R_WRONG_VERSION_NUMBER) return PlainTextProbe::failure(address_);
  const bool refused_by_server = why >= SSL_AD_REASON_OFFSET;
  const char* const hint = refused_by_server
                               ? " (does the server require another certificate? see tls_cert)"
                               : " (does the port speak TLS?)";
  return Status::unreachable(what + tls_error() + hint);
}

}  // namespace holdfast::net
