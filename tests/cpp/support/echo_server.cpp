#include "support/echo_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "support/network.h"

namespace holdfast::simulation {

EchoServer::EchoServer(int timeout) : most_commands_(timeout) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  auto* address = reinterpret_cast<sockaddr*>(&name);
  if (::bind(listener_, address, size) != 0 || ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, address, &size) != 0) {
    throw std::runtime_error("cannot listen");
  }
  port_ = ntohs(name.sin_port);
  thread_ = std::thread([this] { run(); });
}

EchoServer::~EchoServer() {
  ending_ = true;
  eventfd_write(wake_, 1);
  thread_.join();
  ::close(listener_);
  ::close(wake_);
}

net::Address EchoServer::address() const { return {"127.0.0.1", port_, {}}; }

void EchoServer::be_silent(bool silent) {
  silent_ = silent;
  eventfd_write(wake_, 1);
}

void EchoServer::hang_up() {
  hangs_up_ = true;
  eventfd_write(wake_, 1);
}

void EchoServer::run() {
  while (!ending_) {
    std::array<pollfd, 2> fds{{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), -1);
    eventfd_t ignored = 0;
    eventfd_read(wake_, &ignored);
    if (fds[1].revents == 0) continue;
    const int connection = ::accept(listener_, nullptr, nullptr);
    ++connections_;
    while (serve(connection)) continue;
    ::close(connection);
  }
}

bool EchoServer::over() { return ending_ || hangs_up_.exchange(false); }

// False when the connection is at its end. The state of one connection lives here: there is one at
// a time.
bool EchoServer::serve(int connection) {
  CommandParser parser;
  std::string replies;
  int count = 0;
  while (!over()) {
    std::array<pollfd, 2> fds{{{wake_, POLLIN, 0}, {connection, POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), -1);
    eventfd_t ignored = 0;
    eventfd_read(wake_, &ignored);
    if (fds[1].revents != 0) {
      std::array<char, 4096> buffer;
      const ssize_t bytes = ::recv(connection, buffer.data(), buffer.size(), 0);
      if (bytes <= 0) return false;
      std::vector<Command> commands;
      parser.feed({buffer.data(), static_cast<std::size_t>(bytes)}, commands);
      for (const Command& command : commands) {
        ++commands_;
        if (most_commands_ > 0 && ++count > most_commands_) return false;
        replies += "+" + command.words.back() + "\r\n";
      }
    }
    if (silent_ || replies.empty()) continue;
    if (::send(connection, replies.data(), replies.size(), MSG_NOSIGNAL) < 0) return false;
    replies.clear();
  }
  return false;
}

}  // namespace holdfast::simulation
