#include "support/real_server.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "redis/net/support.h"

namespace holdfast::net {
namespace {

std::string on_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::string candidate = rest.substr(0, end) + "/" + program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  return {};
}

std::string server_program() {
  const std::string redis = on_path("redis-server");
  return redis.empty() ? on_path("valkey-server") : redis;
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool answers(const Address& address) {
  SocketTransport transport(address, Millis(1000));
  return connect(transport).io == Io::kDone && ping(transport) == "+PONG\r\n";
}

}  // namespace

TemporaryDirectory::TemporaryDirectory()
    : path_((std::filesystem::temp_directory_path() / "holdfast-XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp");
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }

pid_t start_program(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> args;
  for (const std::string& arg : command) args.push_back(const_cast<char*>(arg.c_str()));
  args.push_back(nullptr);
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t process = fork();
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes leaves nothing behind
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execvp(args[0], args.data());
    _exit(127);
  }
  close(output);
  if (process < 0) throw std::runtime_error("cannot start " + command[0]);
  return process;
}

void run_program(const std::vector<std::string>& command, const std::string& log) {
  int status = -1;
  waitpid(start_program(command, log), &status, 0);
  if (status != 0) throw std::runtime_error(command[0] + " failed: " + contents(log));
}

bool RealServer::installed() { return !server_program().empty(); }

RealServer::RealServer(std::vector<std::string> tls_options) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    if (start(tls_options)) return;
    stop();  // another process took the port
  }
  throw std::runtime_error("the server does not start: " + contents(directory_.file("log")));
}

bool RealServer::start(const std::vector<std::string>& tls_options) {
  port_ = Listener().port();
  const std::string port = std::to_string(port_);
  const bool tls = !tls_options.empty();
  std::vector<std::string> command = {server_program(),
                                      "--bind",
                                      "127.0.0.1",
                                      "--port",
                                      tls ? "0" : port,
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "no",
                                      "--dir",
                                      directory_.file(""),
                                      "--unixsocket",
                                      unix_address().path};
  if (tls) {
    command.insert(command.end(), {"--tls-port", port});
    command.insert(command.end(), tls_options.begin(), tls_options.end());
  }
  process_ = start_program(command, directory_.file("log"));
  bool ended = false;
  return eventually([&] {
           ended = waitpid(process_, nullptr, WNOHANG) != 0;
           if (ended) process_ = -1;
           return ended || answers(unix_address());
         }) &&
         !ended;
}

void RealServer::stop() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

RealServer::~RealServer() { stop(); }

}  // namespace holdfast::net
