#pragma once

#include "net/endpoint.h"
#include "net/pollable.h"
#include "net/socket_transport.h"

namespace holdfast::net {

// Asks a server that is silent in a TLS handshake whether it speaks plain text: a PING over a
// connection without TLS. A Redis server waits for the end of a line that a handshake does not
// have, and would stay silent for ever. No secret is sent. Never blocks.
class PlainTextProbe {
 public:
  enum class Verdict {
    kPending,    // advance() again when interest() comes true
    kPlainText,  // it does
    kUnknown,    // it hung up, or answered in TLS
  };

  PlainTextProbe(const Address& address, Millis user_timeout) : socket_(address, user_timeout) {}

  Verdict advance();
  Interest interest() const;

  // Of the attempt to speak TLS with such a server.
  static Status failure(const Address& address);

 private:
  SocketTransport socket_;
  bool connected_ = false;
  bool asked_ = false;
  bool writes_ = false;  // waits for room
};

}  // namespace holdfast::net
