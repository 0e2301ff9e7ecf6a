#include "redis/net/endpoint.h"

#include <gtest/gtest.h>

namespace holdfast::net {
namespace {

Endpoint endpoint_of(Deployment deployment, std::vector<Address> addresses, int database = 0) {
  Endpoint endpoint;
  endpoint.deployment = deployment;
  endpoint.addresses = std::move(addresses);
  endpoint.database = database;
  endpoint.credentials = {"alice", "secret"};
  return endpoint;
}

TEST(Endpoint, TextNamesTheServerWithoutUserAndPassword) {
  Endpoint one = endpoint_of(Deployment::kStandalone, {{"127.0.0.1", 6380, ""}}, 2);
  EXPECT_EQ(one.text(), "redis://127.0.0.1:6380/2");
  one.tls.enabled = true;
  one.addresses = {{"::1", 6379, ""}};
  EXPECT_EQ(one.text(), "rediss://[::1]:6379/2");
  EXPECT_EQ(endpoint_of(Deployment::kStandalone, {{"", 0, "/x.sock"}}).text(), "unix:///x.sock");
  EXPECT_EQ(endpoint_of(Deployment::kStandalone, {{"", 0, "/x.sock"}}, 3).text(),
            "unix:///x.sock?db=3");
}

TEST(Endpoint, TextNamesEverySeed) {
  Endpoint service = endpoint_of(Deployment::kSentinel, {{"a", 1, ""}, {"b", 2, ""}}, 1);
  service.service = "main";
  EXPECT_EQ(service.text(), "redis+sentinel://a:1,b:2/main/1");
  EXPECT_EQ(endpoint_of(Deployment::kCluster, {{"a", 1, ""}, {"b", 2, ""}}).text(),
            "redis+cluster://a:1,b:2");
  EXPECT_EQ(endpoint_of(Deployment::kCluster, {{"h", 6379, ""}}, 2).text(),
            "redis+cluster://h:6379/2");
}

TEST(Address, Text) {
  EXPECT_EQ((Address{"h", 1, ""}.text()), "h:1");
  EXPECT_EQ((Address{"::1", 6379, ""}.text()), "[::1]:6379");
  EXPECT_EQ((Address{"", 0, "/tmp/x"}.text()), "unix:/tmp/x");
}

}  // namespace
}  // namespace holdfast::net
