#pragma once

#include "net/endpoint.h"
#include "net/pollable.h"
#include "net/socket_transport.h"

namespace holdfast::net {

// Finds out whether a server that is silent in a TLS handshake uses plain text: it sends a PING
// over a connection without TLS. A Redis server without TLS waits for an end of line, which a
// handshake lacks, and would stay silent for ever. No secret is sent. Never blocks.
class PlainTextProbe {
 public:
  enum class Verdict {
    kPending,    // advance() again when interest() comes true
    kPlainText,  // the server answered in plain text
    kUnknown,    // it closed the connection, or answered in TLS
  };

  PlainTextProbe(const Address& address, Millis user_timeout) : socket_(address, user_timeout) {}

  Verdict advance();
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
