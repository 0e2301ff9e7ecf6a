#ifdef HOLDFAST_HAVE_TLS

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>

#include "redis/net/support.h"
#include "redis/net/tls_transport.h"
#include "redis/net/transport.h"
#include "support/real_server.h"

namespace holdfast::net {
namespace {

constexpr Millis kTimeout{5000};

// An authority, and what it signed: made once for all tests.
class Certificates {
 public:
  Certificates() {
    authority("ca");
    authority("other-ca");
    sign("server", "subjectAltName=DNS:localhost,IP:127.0.0.1");
    sign("elsewhere", "subjectAltName=DNS:elsewhere.example");
    sign("client", "extendedKeyUsage=clientAuth");
    openssl(
        {"rsa", "-in", key("client"), "-aes128", "-passout", "pass:secret", "-out", key("locked")});
  }

  std::string certificate(const std::string& name) const { return directory_.file(name + ".crt"); }
  std::string key(const std::string& name) const { return directory_.file(name + ".key"); }
  std::string file(const std::string& name) const { return directory_.file(name); }

 private:
  void openssl(std::vector<std::string> args) const {
    args.insert(args.begin(), "openssl");
    run_program(args, directory_.file("log"));
  }

  void authority(const std::string& name) const {
    openssl({"req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=" + name,
             "-keyout", key(name), "-out", certificate(name)});
  }

  void sign(const std::string& name, const std::string& extension) const {
    const std::string request = file(name + ".csr");
    std::ofstream(file(name + ".ext")) << extension << "\n";
    openssl({"req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + name, "-keyout", key(name),
             "-out", request});
    openssl({"x509", "-req", "-in", request, "-CA", certificate("ca"), "-CAkey", key("ca"),
             "-CAcreateserial", "-days", "2", "-extfile", file(name + ".ext"), "-out",
             certificate(name)});
  }

  TemporaryDirectory directory_;
};

class Tls : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!RealServer::installed()) return;
    certificates_ = std::make_unique<Certificates>();
    server_ = serve("server", {"--tls-auth-clients", "no"});
  }
  static void TearDownTestSuite() {
    server_.reset();
    certificates_.reset();
  }
  void SetUp() override {
    if (server_ == nullptr) GTEST_SKIP() << "no redis-server or valkey-server on PATH";
  }

  static std::unique_ptr<RealServer> serve(const std::string& name,
                                           std::vector<std::string> options) {
    options.insert(options.end(), {"--tls-cert-file", certificates_->certificate(name),
                                   "--tls-key-file", certificates_->key(name), "--tls-ca-cert-file",
                                   certificates_->certificate("ca")});
    return std::make_unique<RealServer>(options);
  }

  static TlsOptions trusting(const std::string& authority) {
    TlsOptions options;
    options.enabled = true;
    options.ca = certificates_->certificate(authority);
    return options;
  }

  static std::unique_ptr<Transport> connected(const Address& address, const TlsOptions& options) {
    auto transport = open_transport(address, options, kTimeout);
    const IoResult result = connect(*transport);
    EXPECT_EQ(result.io, Io::kDone) << result.status.message();
    return transport;
  }

  // The failure of connecting, or of the first PING: a server says late that it wants a
  // certificate.
  static std::string failure(const Address& address, const TlsOptions& options) {
    const auto transport = open_transport(address, options, kTimeout);
    IoResult result = connect(*transport);
    char byte = 0;
    if (result.io == Io::kDone) {
      result = complete(*transport, [&] { return transport->read(&byte, 1); });
    }
    EXPECT_EQ(result.io, Io::kFailed);
    EXPECT_EQ(result.status.code(), Code::kUnreachable);
    EXPECT_NE(result.status.message().find(address.text()), std::string::npos)
        << result.status.message();
    return result.status.message();
  }

  static std::unique_ptr<Certificates> certificates_;
  static std::unique_ptr<RealServer> server_;
};

std::unique_ptr<Certificates> Tls::certificates_;
std::unique_ptr<RealServer> Tls::server_;

TEST_F(Tls, VerifiesAnIpAddress) {
  const auto transport = connected(server_->address(), trusting("ca"));
  EXPECT_EQ(ping(*transport), "+PONG\r\n");
}

TEST_F(Tls, VerifiesAHostName) {
  Address address = server_->address();
  address.host = "localhost";
  EXPECT_EQ(ping(*connected(address, trusting("ca"))), "+PONG\r\n");
}

TEST_F(Tls, RefusesAnotherAuthority) {
  const std::string message = failure(server_->address(), trusting("other-ca"));
  EXPECT_NE(message.find("is tls_ca the authority that signed it?"), std::string::npos) << message;
}

TEST_F(Tls, RefusesWhatTheSystemDoesNotTrust) {
  TlsOptions options;
  options.enabled = true;
  const std::string message = failure(server_->address(), options);
  EXPECT_NE(message.find("set tls_ca"), std::string::npos) << message;
}

TEST_F(Tls, RefusesACertificateOfAnotherHost) {
  const auto other = serve("elsewhere", {"--tls-auth-clients", "no"});
  const std::string by_ip = failure(other->address(), trusting("ca"));
  EXPECT_NE(by_ip.find("for another host"), std::string::npos) << by_ip;
  Address by_name = other->address();
  by_name.host = "localhost";
  const std::string message = failure(by_name, trusting("ca"));
  EXPECT_NE(message.find("for another host"), std::string::npos) << message;
}

TEST_F(Tls, DoesNotVerifyWhereThatIsOff) {
  TlsOptions options;
  options.enabled = true;
  options.verify = false;
  EXPECT_EQ(ping(*connected(server_->address(), options)), "+PONG\r\n");
}

TEST_F(Tls, TrustsADirectoryOfAuthorities) {
  const std::string directory = certificates_->file("authorities");
  std::filesystem::create_directory(directory);
  std::filesystem::copy_file(certificates_->certificate("ca"), directory + "/ca.crt");
  run_program({"openssl", "rehash", directory}, certificates_->file("log"));
  TlsOptions options = trusting("ca");
  options.ca = directory;
  EXPECT_EQ(ping(*connected(server_->address(), options)), "+PONG\r\n");
}

TEST_F(Tls, PresentsACertificate) {
  const auto strict = serve("server", {"--tls-auth-clients", "yes"});
  TlsOptions options = trusting("ca");
  const std::string message = failure(strict->address(), options);
  EXPECT_NE(message.find("see tls_cert"), std::string::npos) << message;
  options.cert = certificates_->certificate("client");
  options.key = certificates_->key("client");
  EXPECT_EQ(ping(*connected(strict->address(), options)), "+PONG\r\n");
}

TEST_F(Tls, TakesTheKeyFromTheCertificatesFile) {
  const std::string both = certificates_->file("both.pem");
  std::ofstream(both) << std::ifstream(certificates_->certificate("client")).rdbuf()
                      << std::ifstream(certificates_->key("client")).rdbuf();
  const auto strict = serve("server", {"--tls-auth-clients", "yes"});
  TlsOptions options = trusting("ca");
  options.cert = both;
  EXPECT_EQ(ping(*connected(strict->address(), options)), "+PONG\r\n");
}

TEST_F(Tls, NamesTheOptionThatIsWrong) {
  TlsOptions options = trusting("none");
  const std::string message = failure(server_->address(), options);
  EXPECT_NE(message.find("tls_ca"), std::string::npos) << message;
  EXPECT_NE(message.find("No such file"), std::string::npos) << message;
  options = trusting("ca");
  options.key = certificates_->key("client");
  EXPECT_NE(failure(server_->address(), options).find("tls_key"), std::string::npos);
  options.cert = certificates_->certificate("none");
  EXPECT_NE(failure(server_->address(), options).find("tls_cert"), std::string::npos);
  options.cert = certificates_->certificate("server");
  EXPECT_NE(failure(server_->address(), options).find("tls_key"), std::string::npos);
}

// In a process with a terminal, where OpenSSL would ask and wait for an answer.
TEST_F(Tls, RefusesALockedKeyWithoutAskingForItsPassphrase) {
  TlsOptions options = trusting("ca");
  options.cert = certificates_->certificate("client");
  options.key = certificates_->key("locked");
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string message = failure(server_->address(), options);
    _exit(message.find("without passphrase") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  EXPECT_TRUE(eventually([&] { return waitpid(child, &status, WNOHANG) == child; }));
  EXPECT_EQ(status, 0);
  if (status == -1) kill(child, SIGKILL);
  close(terminal);
}

TEST_F(Tls, SaysThatThePortSpeaksNoTls) {
  const Listener plain;
  std::thread server([&plain] {
    const Descriptor peer = plain.accept();
    const std::string answer = "-ERR unknown command\r\n";
    send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    char byte = 0;
    recv(peer.get(), &byte, 1, 0);
  });
  const std::string message = failure(plain.address(), trusting("ca"));
  EXPECT_NE(message.find("does the port speak TLS"), std::string::npos) << message;
  server.join();
}

TEST_F(Tls, SaysThatThePeerHangsUpOnTls) {
  const Listener deaf;
  std::thread server([&deaf] { deaf.accept(); });
  const std::string message = failure(deaf.address(), trusting("ca"));
  EXPECT_NE(message.find("does the port speak TLS"), std::string::npos) << message;
  server.join();
}

TEST_F(Tls, SaysThatNoServerListens) {
  const Address unused{"127.0.0.1", Listener().port(), {}};
  const std::string message = failure(unused, trusting("ca"));
  EXPECT_NE(message.find("is a server running there?"), std::string::npos) << message;
}

TEST_F(Tls, SpeaksTls12Too) {
  const auto old = serve("server", {"--tls-auth-clients", "no", "--tls-protocols", "TLSv1.2"});
  EXPECT_EQ(ping(*connected(old->address(), trusting("ca"))), "+PONG\r\n");
}

// Records larger than a read's buffer, and several in one flight.
TEST_F(Tls, ReadsAndWritesOnTwoThreads) {
  const auto transport = connected(server_->address(), trusting("ca"));
  const std::string word(300'000, 'w');
  const std::string command =
      "*2\r\n$4\r\nECHO\r\n$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  const std::string reply = "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  std::thread writer([&] {
    for (int i = 0; i < 30; ++i) EXPECT_EQ(write_all(*transport, command).io, Io::kDone);
  });
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(read_exactly(*transport, reply.size()) == reply) << i;
  writer.join();
}

TEST_F(Tls, AShortReadHasEmptiedTheTransport) {
  const auto transport = connected(server_->address(), trusting("ca"));
  ASSERT_EQ(ping(*transport), "+PONG\r\n");
  const auto arrived = [&] {
    char bytes[1024];
    return recv(transport->fd(), bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
  };
  ASSERT_EQ(write_all(*transport, "PING\r\n").io, Io::kDone);
  ASSERT_TRUE(eventually([&] { return arrived() > 0; }));
  const ssize_t one_record = arrived();
  ASSERT_EQ(write_all(*transport, "PING\r\n").io, Io::kDone);
  ASSERT_TRUE(eventually([&] { return arrived() > one_record; }));
  char bytes[1024];
  EXPECT_EQ(transport->read(bytes, sizeof bytes).bytes, 14U) << "both records";
}

TEST_F(Tls, WritingToADeadServerFailsWithoutASignal) {
  auto server = serve("server", {"--tls-auth-clients", "no"});
  const auto transport = connected(server->address(), trusting("ca"));
  server.reset();
  EXPECT_TRUE(eventually([&] { return transport->write("x", 1).io == Io::kFailed; }));
}

TEST_F(Tls, ConnectionsWithTheSameOptionsShareAContext) {
  const auto first = tls_context(trusting("ca"));
  const auto second = tls_context(trusting("ca"));
  const auto other = tls_context(trusting("other-ca"));
  ASSERT_TRUE(first.ok() && second.ok() && other.ok());
  EXPECT_EQ(first.value(), second.value());
  EXPECT_NE(first.value(), other.value());
}

TEST_F(Tls, FilesAreReadAgainOnceNoConnectionIsLeft) {
  TlsOptions options = trusting("ca");
  options.ca = certificates_->file("renewed.crt");
  const auto replace = std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy_file(certificates_->certificate("other-ca"), options.ca, replace);
  failure(server_->address(), options);
  std::filesystem::copy_file(certificates_->certificate("ca"), options.ca, replace);
  EXPECT_EQ(ping(*connected(server_->address(), options)), "+PONG\r\n");
}

}  // namespace
}  // namespace holdfast::net

#else

#include <gtest/gtest.h>

#include "redis/net/transport.h"

namespace holdfast::net {

TEST(Tls, WithoutOpenSslSaysSo) {
  TlsOptions options;
  options.enabled = true;
  const auto transport = open_transport({"127.0.0.1", 6379, {}}, options, Millis(1000));
  const IoResult result = transport->connect();
  EXPECT_EQ(result.io, Io::kFailed);
  EXPECT_NE(result.status.message().find("built without OpenSSL"), std::string::npos);
}

}  // namespace holdfast::net

#endif
