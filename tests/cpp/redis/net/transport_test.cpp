#include "redis/net/transport.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "redis/base/process.h"
#include "redis/net/socket_transport.h"
#include "redis/net/support.h"
#include "support/real_server.h"

namespace holdfast::net {
namespace {

constexpr Millis kTimeout{5000};

std::unique_ptr<Transport> open(const Address& address) {
  return open_transport(address, TlsOptions(), kTimeout);
}

std::shared_ptr<Resolution> resolved(std::vector<SocketAddress> addresses) {
  return std::make_shared<Resolution>(std::move(addresses));
}

bool contains(const Status& status, const std::string& text) {
  return status.message().find(text) != std::string::npos;
}

int option(const Transport& transport, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  getsockopt(transport.fd(), level, name, &value, &size);
  return value;
}

class RealServerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (RealServer::installed()) server_ = std::make_unique<RealServer>();
  }
  static void TearDownTestSuite() { server_.reset(); }
  void SetUp() override {
    if (server_ == nullptr) GTEST_SKIP() << "no redis-server or valkey-server on PATH";
  }

  static std::unique_ptr<RealServer> server_;
};

std::unique_ptr<RealServer> RealServerTest::server_;

using TransportToServer = RealServerTest;

TEST_F(TransportToServer, TalksOverTcp) {
  const auto transport = open(server_->address());
  ASSERT_EQ(connect(*transport).io, Io::kDone);
  EXPECT_EQ(ping(*transport), "+PONG\r\n");
  EXPECT_EQ(transport->connect().io, Io::kDone) << "asking again changes nothing";
}

TEST_F(TransportToServer, TalksOverAUnixSocket) {
  const auto transport = open(server_->unix_address());
  ASSERT_EQ(connect(*transport).io, Io::kDone);
  EXPECT_EQ(ping(*transport), "+PONG\r\n");
}

TEST_F(TransportToServer, ResolvesAHostNameOnASeparateThread) {
  Address address = server_->address();
  address.host = "localhost";
  const auto transport = open(address);
  EXPECT_GE(transport->fd(), 0) << "something to wait on while the name is looked up";
  const IoResult result = connect(*transport);
  ASSERT_EQ(result.io, Io::kDone) << result.status.message();
  EXPECT_EQ(ping(*transport), "+PONG\r\n");
}

TEST_F(TransportToServer, SetsUpTcp) {
  const auto transport = open(server_->address());
  ASSERT_EQ(connect(*transport).io, Io::kDone);
  EXPECT_EQ(option(*transport, IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(option(*transport, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(*transport, IPPROTO_TCP, TCP_KEEPIDLE), 5);
  EXPECT_EQ(option(*transport, IPPROTO_TCP, TCP_KEEPINTVL), 2);
  EXPECT_EQ(option(*transport, IPPROTO_TCP, TCP_KEEPCNT), 3);
  EXPECT_EQ(option(*transport, IPPROTO_TCP, TCP_USER_TIMEOUT), 5000);
  EXPECT_NE(fcntl(transport->fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(TransportToServer, GivesWayToTheNextAddress) {
  SocketTransport transport(
      "a name", resolved({loopback(Listener().port()), loopback(server_->address().port)}),
      kTimeout);
  ASSERT_EQ(connect(transport).io, Io::kDone);
  EXPECT_EQ(ping(transport), "+PONG\r\n");
}

// Two connections fill the queue of a listener that accepts none; the kernel drops what follows.
TEST_F(TransportToServer, GivesWayToTheNextAddressWhenTheFirstDoesNotAnswer) {
  const Listener silent(0);
  std::vector<std::unique_ptr<Transport>> fillers;
  for (int i = 0; i < 4; ++i) {
    fillers.push_back(open(silent.address()));
    fillers.back()->connect();
  }
  SocketTransport transport("a name",
                            resolved({loopback(silent.port()), loopback(server_->address().port)}),
                            Millis(600));
  EXPECT_EQ(transport.connect().io, Io::kWantWrite);
  const IoResult result = connect(transport);
  ASSERT_EQ(result.io, Io::kDone) << result.status.message();
  EXPECT_EQ(ping(transport), "+PONG\r\n");
  EXPECT_EQ(option(transport, IPPROTO_TCP, TCP_USER_TIMEOUT), 600) << "whole again";
}

TEST_F(TransportToServer, AChildOfForkClosesItsCopyAndNeverTouchesTheConnection) {
  auto transport = open(server_->address());
  ASSERT_EQ(connect(*transport).io, Io::kDone);
  const int inherited = transport->fd();
  const pid_t child = fork();
  if (child == 0) {
    if (fcntl(inherited, F_GETFD) != -1) _exit(1);
    if (transport->fd() != -1) _exit(2);
    const int other = ::dup2(STDERR_FILENO, inherited);  // the number is another owner's now
    if (transport->write("PING\r\n", 6).io != Io::kFailed) _exit(3);
    transport->abort();
    transport.reset();
    if (fcntl(other, F_GETFD) == -1) _exit(4);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(ping(*transport), "+PONG\r\n") << "the parent goes on";
}

TEST(Transport, SaysThatNoServerListens) {
  const Address address{"127.0.0.1", Listener().port(), {}};
  const IoResult result = connect(*open(address));
  ASSERT_EQ(result.io, Io::kFailed);
  EXPECT_EQ(result.status.code(), Code::kUnreachable);
  EXPECT_TRUE(contains(result.status, address.text())) << result.status.message();
  EXPECT_TRUE(contains(result.status, "Connection refused")) << result.status.message();
  EXPECT_TRUE(contains(result.status, "is a server running there?")) << result.status.message();
}

TEST(Transport, SaysThatThereIsNoUnixSocket) {
  const TemporaryDirectory directory;
  const Address address{"", 0, directory.file("none")};
  const IoResult result = connect(*open(address));
  ASSERT_EQ(result.io, Io::kFailed);
  EXPECT_TRUE(contains(result.status, "unix:" + address.path)) << result.status.message();
}

TEST(Transport, RefusesAPathThatIsTooLong) {
  const IoResult result = connect(*open({"", 0, "/" + std::string(200, 'x')}));
  ASSERT_EQ(result.io, Io::kFailed);
  EXPECT_TRUE(contains(result.status, "too long")) << result.status.message();
}

TEST(Transport, SaysThatAHostIsUnknown) {
  const IoResult result = connect(*open({"no-such-host.invalid", 6379, {}}));
  ASSERT_EQ(result.io, Io::kFailed);
  EXPECT_EQ(result.status.code(), Code::kUnreachable);
  EXPECT_TRUE(contains(result.status, "no-such-host.invalid:6379")) << result.status.message();
  EXPECT_TRUE(contains(result.status, "is the host name right?")) << result.status.message();
}

TEST(Transport, MayBeDestroyedWhileItsNameIsLookedUp) {
  for (int i = 0; i < 20; ++i) open({"localhost", 6379, {}});
}

TEST(Transport, ReportsThatThePeerClosed) {
  const Listener listener;
  const auto transport = open(listener.address());
  ASSERT_EQ(connect(*transport).io, Io::kDone);
  listener.accept();
  char byte = 0;
  const IoResult result = complete(*transport, [&] { return transport->read(&byte, 1); });
  ASSERT_EQ(result.io, Io::kFailed);
  EXPECT_TRUE(contains(result.status, "closed the connection")) << result.status.message();
}

TEST(Transport, AwaitGivesUpAfterAMomentAndHasWhatCame) {
  const Listener listener;
  const auto transport = open(listener.address());
  ASSERT_EQ(connect(*transport).io, Io::kDone);
  const Descriptor peer = listener.accept();
  char byte = 0;
  EXPECT_EQ(transport->await(&byte, 1).io, Io::kWantRead);
  std::thread speaker([&] { send(peer.get(), "x", 1, MSG_NOSIGNAL); });
  EXPECT_TRUE(eventually([&] { return transport->await(&byte, 1).io == Io::kDone; }));
  EXPECT_EQ(byte, 'x');
  speaker.join();
}

TEST(Transport, WritingToAClosedPeerFailsWithoutASignal) {
  const Listener listener;
  const auto transport = open(listener.address());
  ASSERT_EQ(connect(*transport).io, Io::kDone);
  listener.accept();
  IoResult result;
  EXPECT_TRUE(eventually([&] {  // SIGPIPE would end this process
    result = transport->write("x", 1);
    return result.io == Io::kFailed;
  }));
  EXPECT_TRUE(contains(result.status, listener.address().text())) << result.status.message();
}

TEST(Transport, DestroyingItClosesInOrder) {
  const Listener listener;
  auto transport = open(listener.address());
  ASSERT_EQ(connect(*transport).io, Io::kDone);
  const Descriptor peer = listener.accept();
  ASSERT_EQ(write_all(*transport, "bye").io, Io::kDone);
  transport.reset();
  char bytes[8];
  EXPECT_EQ(recv(peer.get(), bytes, sizeof bytes, MSG_WAITALL), 3);
  EXPECT_EQ(recv(peer.get(), bytes, sizeof bytes, 0), 0);
}

TEST(Transport, AbortResetsAndThrowsAwayWhatIsNotDelivered) {
  const Listener listener;
  auto transport = open(listener.address());
  ASSERT_EQ(connect(*transport).io, Io::kDone);
  const Descriptor peer = listener.accept();
  const std::string chunk(1 << 16, 'x');
  std::size_t written = 0;
  for (;;) {  // more than the peer's buffer takes
    const IoResult result = transport->write(chunk.data(), chunk.size());
    if (result.io != Io::kDone) break;
    written += result.bytes;
  }
  transport->abort();
  transport.reset();
  std::vector<char> buffer(1 << 20);
  std::size_t arrived = 0;
  ssize_t got = 0;
  while ((got = recv(peer.get(), buffer.data(), buffer.size(), 0)) > 0) {
    arrived += static_cast<std::size_t>(got);
  }
  EXPECT_EQ(got, -1);
  EXPECT_EQ(errno, ECONNRESET);
  EXPECT_LT(arrived, written);
}

TEST(Transport, ReadsAndWritesOnTwoThreads) {
  const Listener listener;
  const auto transport = open(listener.address());
  ASSERT_EQ(connect(*transport).io, Io::kDone);
  std::thread echo([peer = listener.accept()] {
    std::vector<char> buffer(1 << 16);
    ssize_t got = 0;
    while ((got = recv(peer.get(), buffer.data(), buffer.size(), 0)) > 0) {
      const auto size = static_cast<std::size_t>(got);
      if (send(peer.get(), buffer.data(), size, MSG_NOSIGNAL) != got) return;
    }
  });
  std::string bytes;
  for (int i = 0; i < 1 << 20; ++i) bytes += std::to_string(i);
  std::thread writer([&] { write_all(*transport, bytes); });
  EXPECT_TRUE(read_exactly(*transport, bytes.size()) == bytes);
  writer.join();
  shutdown(transport->fd(), SHUT_RDWR);
  echo.join();
}

// A free port that the kernel gives to outgoing connections first (it prefers the parity of the
// range's lower end), and not the one that another run of this test looks at.
std::uint16_t likely_local_port() {
  const auto first = static_cast<std::uint16_t>(36000 + 2 * (getpid() % 10000));
  for (std::uint16_t port = first;; port = static_cast<std::uint16_t>(port + 2)) {
    try {
      return Listener(1, port).port();
    } catch (const std::runtime_error&) {
      continue;
    }
  }
}

// Trying again and again to reach a server that is down, on a port of that range, TCP sooner or
// later connects the socket to itself.
TEST(Transport, IsNeverConnectedToItself) {
  const std::vector<SocketAddress> unused{loopback(likely_local_port())};
  for (int i = 0; i < 40000; ++i) {
    SocketTransport transport("unused", resolved(unused), kTimeout);
    ASSERT_EQ(connect(transport).io, Io::kFailed) << i;
  }
}

}  // namespace
}  // namespace holdfast::net
