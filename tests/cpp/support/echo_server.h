#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "redis/net/endpoint.h"

namespace holdfast::simulation {

// A server on a real socket of 127.0.0.1, with its thread: it replies to each command with the
// command's last word.
class EchoServer {
 public:
  // `timeout`: the number of commands after which it closes the connection; 0: never.
  explicit EchoServer(int timeout = 0);
  ~EchoServer();
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  net::Address address() const;
  // While silent it reads, and replies later to all at once.
  void be_silent(bool silent);
  // Closes the connection that it has.
  void hang_up();
  int connections() const { return connections_; }
  int commands() const { return commands_; }

 private:
  void run();
  bool serve(int connection);
  bool over();  // the connection, from this side

  const int most_commands_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  int wake_ = -1;
  std::atomic<bool> ending_{false};
  std::atomic<bool> silent_{false};
  std::atomic<bool> hangs_up_{false};
  std::atomic<int> connections_{0};
  std::atomic<int> commands_{0};
  std::thread thread_;
};

}  // namespace holdfast::simulation
