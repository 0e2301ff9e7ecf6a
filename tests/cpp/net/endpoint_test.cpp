#include "net/endpoint.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

namespace holdfast::net {
namespace {

Endpoint parse(const std::string& url) {
  auto parsed = parse_url(url);
  if (!parsed.ok()) throw std::runtime_error(url + ": " + parsed.status().message());
  return parsed.value().endpoint;
}

Status fault_of(const std::string& url) { return parse_url(url).status(); }

TEST(ParseUrl, AClusterMayHaveSeveralDatabases) {
  EXPECT_EQ(parse("redis+cluster://h,g/2").database, 2);
  EXPECT_EQ(parse("redis+cluster://h/2").text(), "redis+cluster://h:6379/2");
  EXPECT_EQ(parse("redis+cluster://h/0").text(), "redis+cluster://h:6379");
}

TEST(ParseUrl, OneServer) {
  const Endpoint endpoint = parse("redis://127.0.0.1:6380/3");
  EXPECT_EQ(endpoint.deployment, Deployment::kStandalone);
  ASSERT_EQ(endpoint.addresses.size(), 1U);
  EXPECT_EQ(endpoint.addresses[0].host, "127.0.0.1");
  EXPECT_EQ(endpoint.addresses[0].port, 6380);
  EXPECT_TRUE(endpoint.addresses[0].path.empty());
  EXPECT_EQ(endpoint.database, 3);
  EXPECT_FALSE(endpoint.tls.enabled);
  EXPECT_TRUE(endpoint.tls.verify);
}

TEST(ParseUrl, PortAndDatabaseMayBeLeftOut) {
  for (const char* url : {"redis://example.org", "redis://example.org/", "valkey://example.org/0",
                          "REDIS://example.org:6379"}) {
    const Endpoint endpoint = parse(url);
    EXPECT_EQ(endpoint.addresses[0].host, "example.org") << url;
    EXPECT_EQ(endpoint.addresses[0].port, 6379) << url;
    EXPECT_EQ(endpoint.database, 0) << url;
    EXPECT_TRUE(endpoint.credentials.username.empty()) << url;
    EXPECT_TRUE(endpoint.credentials.password.empty()) << url;
  }
}

TEST(ParseUrl, Tls) {
  EXPECT_TRUE(parse("rediss://h").tls.enabled);
  EXPECT_TRUE(parse("valkeys://h").tls.enabled);
  EXPECT_TRUE(parse("rediss+cluster://h").tls.enabled);
  EXPECT_FALSE(parse("valkey://h").tls.enabled);
}

TEST(ParseUrl, Credentials) {
  const Credentials both = parse("redis://alice:s%40c%2Fr%3Ae%25t@h").credentials;
  EXPECT_EQ(both.username, "alice");
  EXPECT_EQ(both.password, "s@c/r:e%t");
  const Credentials password = parse("redis://:secret@h").credentials;
  EXPECT_EQ(password.username, "");
  EXPECT_EQ(password.password, "secret");
  const Credentials user = parse("redis://alice@h").credentials;
  EXPECT_EQ(user.username, "alice");
  EXPECT_EQ(user.password, "");
  EXPECT_EQ(parse("redis://a:b:c@h").credentials.password, "b:c") << "a colon needs no encoding";
  EXPECT_EQ(parse("redis://a:b@c@h").credentials.password, "b@c") << "the last '@' counts";
}

TEST(ParseUrl, Ipv6) {
  const Endpoint endpoint = parse("redis://user:pw@[2001:db8::7]:7000/1");
  EXPECT_EQ(endpoint.addresses[0].host, "2001:db8::7");
  EXPECT_EQ(endpoint.addresses[0].port, 7000);
  EXPECT_EQ(parse("redis://[::1]").addresses[0].host, "::1");
  EXPECT_EQ(parse("redis://[fe80::1%25eth0]").addresses[0].host, "fe80::1%eth0");
}

TEST(ParseUrl, UnixSocket) {
  const auto parsed = parse_url("unix:///run/my%20redis.sock?lease=5&db=2");
  ASSERT_TRUE(parsed.ok());
  const Endpoint& endpoint = parsed.value().endpoint;
  EXPECT_EQ(endpoint.addresses[0].path, "/run/my redis.sock");
  EXPECT_TRUE(endpoint.addresses[0].host.empty());
  EXPECT_EQ(endpoint.database, 2);
  ASSERT_EQ(parsed.value().options.size(), 1U);
  EXPECT_EQ(parsed.value().options[0].name, "lease");
  EXPECT_EQ(parse("unix://u:p@/s").credentials.password, "p");
}

TEST(ParseUrl, Sentinel) {
  const Endpoint endpoint = parse("redis+sentinel://u:p@h1:26380,h2,[::1]:5/my%20primary/4");
  EXPECT_EQ(endpoint.deployment, Deployment::kSentinel);
  ASSERT_EQ(endpoint.addresses.size(), 3U);
  EXPECT_EQ(endpoint.addresses[0].port, 26380);
  EXPECT_EQ(endpoint.addresses[1].port, 26379);
  EXPECT_EQ(endpoint.addresses[2].host, "::1");
  EXPECT_EQ(endpoint.service, "my primary");
  EXPECT_EQ(endpoint.database, 4);
  EXPECT_EQ(parse("redis+sentinel://h/s/").database, 0);
}

TEST(ParseUrl, Cluster) {
  const Endpoint endpoint = parse("redis+cluster://h1:7000,h2");
  EXPECT_EQ(endpoint.deployment, Deployment::kCluster);
  ASSERT_EQ(endpoint.addresses.size(), 2U);
  EXPECT_EQ(endpoint.addresses[1].port, 6379);
  EXPECT_TRUE(parse_url("redis+cluster://h/0").ok());
}

TEST(ParseUrl, LeavesOptionsToItsCaller) {
  const auto parsed = parse_url("redis://h?lease=5&client_name=a%26b+c&&lease=6");
  ASSERT_TRUE(parsed.ok());
  const auto& options = parsed.value().options;
  ASSERT_EQ(options.size(), 3U);
  EXPECT_EQ(options[0].name, "lease");
  EXPECT_EQ(options[0].value, "5");
  EXPECT_EQ(options[1].value, "a&b+c");
  EXPECT_EQ(options[2].value, "6");
}

struct Bad {
  const char* url;
  const char* fault;  // named by the message
};

class BadUrl : public testing::TestWithParam<Bad> {};

TEST_P(BadUrl, IsRefusedByName) {
  const Status status = fault_of(GetParam().url);
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_NE(status.message().find(GetParam().fault), std::string::npos) << status.message();
}

INSTANTIATE_TEST_SUITE_P(
    All, BadUrl,
    testing::Values(
        Bad{"", "no scheme"}, Bad{"localhost:6379", "no scheme"},
        Bad{"http://h", "unknown scheme 'http'"}, Bad{"redis+ring://h", "redis+ring"},
        Bad{"re dis://h", "unknown scheme"}, Bad{"redis://", "host is empty"},
        Bad{"redis:///0", "host is empty"}, Bad{"redis://u:p@", "host is empty"},
        Bad{"redis://:6379", "host is empty"}, Bad{"redis://h:", "port"},
        Bad{"redis://h:0", "port"}, Bad{"redis://h:65536", "port"}, Bad{"redis://h:6379x", "port"},
        Bad{"redis://h:-1", "port"}, Bad{"redis://h:+1", "port"},
        Bad{"redis://::1", "redis://[::1]:6379"}, Bad{"redis://2001:db8::1", "brackets"},
        Bad{"redis://::1:6379", "redis://[::1]:6379"},
        Bad{"redis+cluster://h,::1:7000", "brackets"},
        Bad{"redis-cluster://h", "write redis+cluster://"},
        Bad{"rediss-sentinel://h/s", "write rediss+sentinel://"},
        Bad{"redis-ring://h", "known are redis, rediss"}, Bad{"redis://[::1", "']'"},
        Bad{"redis://[::1]6379", "port"}, Bad{"redis://[h]", "IPv6"},
        Bad{"redis://[::1%25%00]", "IPv6"}, Bad{"redis://a%20b", "host name"},
        Bad{"redis://a%00b", "host name"}, Bad{"redis://a b", "host name"},
        Bad{"redis://h/x", "database"}, Bad{"redis://h/-1", "database"},
        Bad{"redis://h/1/2", "database"}, Bad{"redis://h/99999999999", "database"},
        Bad{"redis://h#frag", "fragment"}, Bad{"redis://h/0#", "fragment"},
        Bad{"redis://h1,h2", "several hosts"}, Bad{"redis://u%4:p@h", "user"},
        Bad{"redis://u:%zz@h", "password"}, Bad{"redis://h%2", "host"},
        Bad{"redis://h?lease", "name=value"}, Bad{"redis://h?=5", "name=value"},
        Bad{"redis://h?a=%4", "value of an option"}, Bad{"unix://", "three slashes"},
        Bad{"unix:///", "three slashes"}, Bad{"unix://tmp/x", "three slashes"},
        Bad{"unix:///x?db=a", "database"}, Bad{"unix:///x%00y", "NUL"},
        Bad{"unix:///aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "107 bytes"},
        Bad{"redis+sentinel://h", "service"}, Bad{"redis+sentinel://h/", "service"},
        Bad{"redis+sentinel://h//0", "service"}, Bad{"redis+sentinel://h/s/x", "database"},
        Bad{"redis+sentinel://h1,,h2/s", "host is empty"},
        Bad{"redis+cluster://h,", "host is empty"}, Bad{"redis+cluster://h/x", "database"}));

// However the pieces of a password fall apart at marks that should have been encoded.
TEST(ParseUrl, QuotesNothingOfAPassword) {
  std::mt19937 random(7);
  const std::string marks = "/?#@:%[],&=+ ";
  const std::string schemes[] = {"redis", "unix", "redis+sentinel", "redis+cluster", "nonsense"};
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string password;
    for (int i = 0; i < 4; ++i) {
      password += "qzx";
      password += marks[random() % marks.size()];
    }
    const std::string url = schemes[random() % 5] + "://user:" + password + "@host:1/0";
    const auto parsed = parse_url(url);
    if (parsed.ok()) continue;
    ++refused;
    ASSERT_EQ(parsed.status().message().find("qzx"), std::string::npos)
        << url << " gives " << parsed.status().message();
  }
  EXPECT_GT(refused, 10000);
}

TEST(Endpoint, TextNamesTheServerWithoutUserAndPassword) {
  EXPECT_EQ(parse("redis://alice:secret@127.0.0.1:6380/2").text(), "redis://127.0.0.1:6380/2");
  EXPECT_EQ(parse("valkeys://:secret@[::1]").text(), "rediss://[::1]:6379/0");
  EXPECT_EQ(parse("unix://:secret@/tmp/x.sock").text(), "unix:///tmp/x.sock");
  EXPECT_EQ(parse("unix:///tmp/x.sock?db=3").text(), "unix:///tmp/x.sock?db=3");
  EXPECT_EQ(parse("redis+sentinel://:secret@a:1,b:2/main/1").text(),
            "redis+sentinel://a:1,b:2/main/1");
  EXPECT_EQ(parse("redis+cluster://:secret@a:1,b:2").text(), "redis+cluster://a:1,b:2");
}

TEST(Address, Text) {
  EXPECT_EQ((Address{"h", 1, ""}.text()), "h:1");
  EXPECT_EQ((Address{"::1", 6379, ""}.text()), "[::1]:6379");
  EXPECT_EQ((Address{"", 0, "/tmp/x"}.text()), "unix:/tmp/x");
}

}  // namespace
}  // namespace holdfast::net
