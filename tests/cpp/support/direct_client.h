#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "redis/base/process.h"
#include "redis/net/endpoint.h"
#include "redis/resp/command.h"
#include "redis/resp/reply.h"

namespace holdfast {

// A connection to a server on 127.0.0.1 whose calls block, for 5 s at most.
class DirectClient {
 public:
  explicit DirectClient(const net::Address& address)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval longest{5, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0;
  }

  // kUnreachable: the server has closed the connection, or does not answer.
  Result<resp::Reply> ask(const resp::Command& command) {
    const std::string& bytes = command.bytes();
    const ssize_t sent =
        connected_ ? send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) : -1;
    if (sent != static_cast<ssize_t>(bytes.size())) return Status::unreachable("not sent");
    return next();
  }

  // The next reply, or message.
  Result<resp::Reply> next() {
    for (;;) {
      auto reply = reader_.next();
      if (!reply.ok()) return reply.status();
      if (reply.value()) return std::move(*reply.value());
      std::array<char, 4096> bytes{};
      const ssize_t size = recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (size <= 0) return Status::unreachable("no reply");
      reader_.feed(bytes.data(), static_cast<std::size_t>(size));
    }
  }

 private:
  Descriptor socket_;
  resp::Reader reader_;
  bool connected_ = false;
};

}  // namespace holdfast
