#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "redis/base/mutex.h"
#include "redis/base/status.h"
#include "redis/net/endpoint.h"
#include "redis/net/socket_transport.h"
#include "redis/net/transport.h"

namespace holdfast::net {

using TlsContext = std::shared_ptr<SSL_CTX>;

// The TLS context that all connections with the same options share: trust store and certificate.
// The files are read when the first of these connections is opened, and again after the last one
// has been closed, so that renewed files are noticed. Thread-safe; a fork()ed child makes new ones.
// The failure names the option.
Result<TlsContext> tls_context(const TlsOptions& options);

// The text of OpenSSL's error queue of this thread; empties the queue.
std::string tls_error();

// A Transport of TLS over TCP: OpenSSL, which reads and writes a SocketTransport. It never sends
// close_notify: RESP has its own framing, and a fork()ed child must not write to its parent's
// connection.
class TlsTransport final : public Transport {
 public:
  TlsTransport(const Address& address, TlsOptions options, Millis user_timeout,
               std::shared_ptr<AddressMemory> memory = nullptr);

  int fd() const override { return socket_.fd(); }
  IoResult connect() override;
  TimePoint due() const override { return socket_.due(); }
  IoResult read(char* into, std::size_t size) override;
  bool has_input() const override { return socket_.has_input(); }
  IoResult write(const char* from, std::size_t size) override;
  bool silent() const override { return ssl_ != nullptr && !connected_ && !answered_; }
  void abort() override { socket_.abort(); }

 private:
  Status prepare();
  IoResult result_of(int returned, std::size_t bytes);
  Status reason(int error) const;

  const Address address_;
  const TlsOptions options_;
  SocketTransport socket_;
  Status socket_failure_;  // the failure of the socket below OpenSSL
  TlsContext context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, SSL_free};
  bool connected_ = false;
  bool received_ = false;  // bytes were read after that
  bool answered_ = false;  // bytes of the handshake were read
  Mutex mutex_;            // guards ssl_: one thread may read while another writes

  friend struct SocketBio;
};

}  // namespace holdfast::net
