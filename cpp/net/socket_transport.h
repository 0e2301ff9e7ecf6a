#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/descriptor.h"
#include "net/resolver.h"
#include "net/transport.h"

namespace holdfast::net {

// A Transport over a bare socket, TCP or unix. Keep-alive probes, TCP_USER_TIMEOUT and EPOLLRDHUP
// find dead peers, instead of a PING every few seconds from each client.
class SocketTransport final : public Transport {
 public:
  SocketTransport(const Address& address, Millis user_timeout);

  // The same for known addresses, tried in turn; `name` stands for them in messages.
  SocketTransport(std::string name, std::vector<SocketAddress> addresses, Millis user_timeout);

  int fd() const override;
  IoResult connect() override;
  IoResult read(char* into, std::size_t size) override;
  bool has_input() const override;
  IoResult await(char* into, std::size_t size) override;
  Millis moment() const override;
  IoResult write(const char* from, std::size_t size) override;
  void abort() override;

 private:
  IoResult begin_next();        // connects to the next address that does not fail at once
  IoResult finish();            // the result of the current attempt
  IoResult refused(int error);  // an attempt failed: on to the next, or out of addresses
  void prepare_tcp(Millis connect_timeout) const;
  void let_await_block() const;
  IoResult receive(char* into, std::size_t size, int flags);
  bool connected_to_itself() const;
  IoResult failed(const std::string& what, int error) const;

  const std::string name_;
  const Millis user_timeout_;
  std::unique_ptr<Resolver> resolver_;  // until it has answered
  std::vector<SocketAddress> addresses_;
  std::size_t next_ = 0;  // of addresses_
  Descriptor socket_;
  bool connected_ = false;
};

}  // namespace holdfast::net
