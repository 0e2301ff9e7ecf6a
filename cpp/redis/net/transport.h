#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "redis/base/clock.h"
#include "redis/base/status.h"
#include "redis/net/address_memory.h"
#include "redis/net/endpoint.h"

namespace holdfast::net {

enum class Io {
  kDone,       // progress: `bytes` of it
  kWantRead,   // again when the fd is readable
  kWantWrite,  // again when the fd is writable
  kFailed,     // closed by the peer, or an error: `status` says which
};

struct IoResult {
  Io io = Io::kDone;
  std::size_t bytes = 0;
  Status status;
};

// A byte stream to one server that never blocks, except in await(): TCP (TCP_NODELAY, keep-alive
// probes after 5 s, TCP_USER_TIMEOUT), a unix socket, or TLS over TCP. connect() is called until
// kDone; then read() and write(), which may be called from two threads at the same time (one each).
// Destroying it closes the socket; abort() makes that a reset that drops undelivered bytes, so that
// no old command arrives late. Messages of failures name the address and the next step ("is a
// server running there?").
class Transport {
 public:
  virtual ~Transport() = default;

  // The fd to wait on; it may change until connect() is done, -1 while there is none. It is a
  // Descriptor's, so an EventLoop notices a new one of the same number.
  virtual int fd() const = 0;

  virtual IoResult connect() = 0;
  // Until connect() is done: when it has more to do though the fd shows nothing; kNever: not.
  virtual TimePoint due() const { return kNever; }

  // Fewer bytes than `size` (never 0) mean that there were no more: the fd becomes readable with
  // the next ones. After a full read call again before waiting for the fd: TLS may hold bytes that
  // the fd does not show.
  virtual IoResult read(char* into, std::size_t size) = 0;

  // Whether read() has something to return now: bytes, perhaps none that are for the caller (TLS),
  // or the end.
  virtual bool has_input() const = 0;

  // As read(), but without data it blocks until some arrive, for at most moment(): that saves a
  // poll. A signal may end it. If moment() is 0, it is read().
  virtual IoResult await(char* into, std::size_t size) { return read(into, size); }
  virtual Millis moment() const { return Millis(0); }

  // After a kWant... the next call must begin with the same bytes (more may follow them).
  virtual IoResult write(const char* from, std::size_t size) = 0;

  // In a handshake: bytes have been sent, and the server has not answered yet.
  virtual bool silent() const { return false; }

  virtual void abort() = 0;
};

// Starts connecting; returns at once. Host names are resolved on a separate, short-lived thread
// (the fd is another until then), IP literals without one. Of several addresses the next one is
// tried when one fails, and after 250 ms beside it (RFC 8305); the first TCP connection that is
// made is used, the others are closed. `memory` says which is tried first, and learns; null: the
// resolver does. `user_timeout`: how long sent bytes may stay unacknowledged. Without OpenSSL in
// the build, tls.enabled gives a transport that fails with a message saying so. Errors are returned
// by connect().
std::unique_ptr<Transport> open_transport(const Address& address, const TlsOptions& tls,
                                          Millis user_timeout,
                                          std::shared_ptr<AddressMemory> memory = nullptr);

// The version of the OpenSSL library in use: "3.0.17". Empty: built without TLS.
std::string openssl_version();

}  // namespace holdfast::net
