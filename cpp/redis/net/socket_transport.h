#pragma once

#include <memory>
#include <string>
#include <vector>

#include "redis/base/process.h"
#include "redis/net/endpoint.h"
#include "redis/net/pollable.h"
#include "redis/net/resolver.h"
#include "redis/net/transport.h"

namespace holdfast::net {

// A Transport over a bare socket, TCP or unix. Keep-alive probes, TCP_USER_TIMEOUT and EPOLLRDHUP
// find dead peers, instead of a PING every few seconds from each client.
class SocketTransport final : public Transport {
 public:
  SocketTransport(const Address& address, Millis user_timeout,
                  std::shared_ptr<AddressMemory> memory = nullptr);

  // For addresses that are known, or are not to be had: `resolution` has been answered. `name`
  // stands for them in messages.
  SocketTransport(std::string name, std::shared_ptr<Resolution> resolution, Millis user_timeout);

  int fd() const override;
  IoResult connect() override;
  TimePoint due() const override;
  IoResult read(char* into, std::size_t size) override;
  bool has_input() const override;
  IoResult await(char* into, std::size_t size) override;
  Millis moment() const override;
  IoResult write(const char* from, std::size_t size) override;
  void abort() override;

 private:
  // One of the connections that race.
  struct Attempt {
    Descriptor socket;
    SocketAddress to;
  };
  // The state of an attempt: 0, it is connected; an error; EINPROGRESS.
  static int outcome(const Attempt& attempt);

  IoResult race();
  void note_failure(const SocketAddress& to, int error);
  void begin_next();
  int begin(const SocketAddress& to);
  IoResult use(Attempt winner);
  IoResult receive(char* into, std::size_t size, int flags);
  IoResult failed(const std::string& what, int error) const;

  const std::string name_;
  const Millis user_timeout_;
  std::shared_ptr<Resolution> resolution_;  // until it has answered
  const std::shared_ptr<AddressMemory> memory_;
  std::vector<SocketAddress> addresses_;
  std::size_t next_ = 0;       // the next of addresses_
  TimePoint next_at_{};        // when it is tried though an earlier attempt goes on
  std::vector<Attempt> race_;  // in the order of their beginning
  int error_ = 0;              // why the last attempt failed
  Descriptor socket_;
  bool connected_ = false;
};

// Finds out whether a server that is silent in a TLS handshake uses plain text: it sends a PING
// over a connection without TLS. A Redis server without TLS waits for an end of line, which a
// handshake lacks, and would stay silent for ever. No secret is sent. Never blocks.
class PlainTextProbe {
 public:
  enum class Finding {
    kPending,    // advance() again when interest() comes true
    kPlainText,  // the server answered in plain text
    kUnknown,    // it closed the connection, or answered in TLS
  };

  PlainTextProbe(const Address& address, Millis user_timeout) : socket_(address, user_timeout) {}

  Finding advance();
  Interest interest() const;

  // The failure of a TLS connection to such a server.
  static Status failure(const Address& address);

 private:
  SocketTransport socket_;
  bool connected_ = false;
  bool sent_ = false;
  bool writes_ = false;  // waits for room
};

}  // namespace holdfast::net
