#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "redis/net/endpoint.h"

namespace holdfast::net {

// A new directory, which is removed with its files.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Runs a program found by PATH, its output in `log`; its process id.
pid_t start_program(const std::vector<std::string>& command, const std::string& log);

// Runs a program to its end; throws what it said when it fails.
void run_program(const std::vector<std::string>& command, const std::string& log);

// redis-server, or valkey-server where there is none, on a free port of 127.0.0.1 (TLS when
// `tls_options` are given) and on a unix socket; it dies with this object.
class RealServer {
 public:
  explicit RealServer(std::vector<std::string> tls_options = {});
  ~RealServer();
  RealServer(const RealServer&) = delete;
  RealServer& operator=(const RealServer&) = delete;

  static bool installed();

  Address address() const { return {"127.0.0.1", port_, {}}; }
  Address unix_address() const { return {"", 0, directory_.file("socket")}; }

 private:
  bool start(const std::vector<std::string>& tls_options);
  void stop();

  TemporaryDirectory directory_;
  std::uint16_t port_ = 0;
  pid_t process_ = -1;
};

}  // namespace holdfast::net
