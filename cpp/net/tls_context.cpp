#include "net/tls_context.h"

#include <openssl/err.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <system_error>
#include <tuple>

#include "base/mutex.h"

namespace holdfast::net {
namespace {

// The key of the cache: the options of a context.
using Key = std::tuple<bool, std::string, std::string, std::string, std::string, std::string>;

struct Cache {
  const pid_t process = getpid();
  Mutex mutex;
  std::map<Key, std::weak_ptr<SSL_CTX>> contexts HOLDFAST_GUARDED_BY(mutex);
};

std::atomic<Cache*> current_cache{nullptr};

// The cache of this process. A child of fork() does not use its parent's: a thread that the child
// does not have may have held its lock.
Cache& cache() {
  Cache* found = current_cache.load();
  while (found == nullptr || found->process != getpid()) {
    auto fresh = std::make_unique<Cache>();
    if (current_cache.compare_exchange_strong(found, fresh.get())) return *fresh.release();
  }
  return *found;
}

// Instead of asking for the passphrase of an encrypted key on the terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

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
  SSL_CTX_set_default_passwd_cb(raw, no_passphrase);
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
  Cache& shared = cache();
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

}  // namespace holdfast::net
