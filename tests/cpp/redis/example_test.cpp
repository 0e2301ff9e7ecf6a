// The example of the client by itself, cpp/redis/example.cpp, against a real server.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/real_server.h"

namespace holdfast {
namespace {

std::string said(const std::vector<std::string>& words, std::uint16_t port) {
  const net::TemporaryDirectory directory;
  std::vector<std::string> command = {REDIS_EXAMPLE, std::to_string(port)};
  command.insert(command.end(), words.begin(), words.end());
  net::run_program(command, directory.file("log"));
  std::ostringstream text;
  text << std::ifstream(directory.file("log")).rdbuf();
  return text.str();
}

TEST(ExampleTest, ACommandIsAnsweredByAServer) {
  if (!net::RealServer::installed()) GTEST_SKIP() << "no redis-server or valkey-server on PATH";
  const net::RealServer server;
  const std::uint16_t port = server.address().port;
  EXPECT_EQ(said({"SET", "key", "some value"}, port), "OK\n");
  EXPECT_EQ(said({"GET", "key"}, port), "some value\n");
}

TEST(ExampleTest, WithoutAServerItEndsWithAnError) {
  constexpr std::uint16_t kNoServer = 1;
  EXPECT_THROW(said({"PING"}, kNoServer), std::runtime_error);
}

}  // namespace
}  // namespace holdfast
