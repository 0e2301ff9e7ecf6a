#include "guard/settings.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::guard {
namespace {

net::Address at(const std::string& host, std::uint16_t port) { return {host, port, {}}; }

Settings known() {
  Settings settings;
  settings.endpoint.deployment = net::Deployment::kSentinel;
  settings.endpoint.addresses = {at("localhost", 17000), at("::1", 7001)};
  settings.endpoint.service = "orders";
  settings.endpoint.database = 3;
  settings.endpoint.credentials = {"app", "pass word\r\n"};
  settings.endpoint.sentinel_credentials = {"", "other"};
  settings.endpoint.tls.enabled = true;
  settings.endpoint.tls.verify = false;
  settings.endpoint.tls.ca = "/etc/my ca.pem";
  settings.endpoint.address_table = {{at("10.0.0.1", 7000), at("localhost", 17000)},
                                     {at("::1", 7001), at("localhost", 17001)}};
  settings.publish = "publish";
  settings.primary = at("10.0.0.1", 7000);
  settings.primary->announced = true;
  settings.connections = {"id=3 addr=127.0.0.1:5000 name=", "id=4 addr=127.0.0.1:5001 name="};
  return settings;
}

Settings read(const Settings& settings) {
  auto found = read_settings(settings_text(settings));
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.ok() ? std::move(found.value()) : Settings();
}

TEST(SettingsTest, TheServersReachTheGuard) {
  const Settings found = read(known());
  EXPECT_EQ(found.endpoint.deployment, net::Deployment::kSentinel);
  EXPECT_EQ(found.endpoint.addresses, known().endpoint.addresses);
  EXPECT_FALSE(found.endpoint.addresses[0].announced);
  EXPECT_EQ(found.endpoint.service, "orders");
  EXPECT_EQ(found.endpoint.database, 3);
  EXPECT_EQ(found.endpoint.address_table, known().endpoint.address_table);
  EXPECT_EQ(found.publish, "publish");
  EXPECT_EQ(found.primary, known().primary);
  EXPECT_TRUE(found.primary->announced);
  EXPECT_EQ(found.connections, known().connections);
}

TEST(SettingsTest, CredentialsAndTlsReachTheGuard) {
  const net::Endpoint found = read(known()).endpoint;
  EXPECT_EQ(found.credentials.username, "app");
  EXPECT_EQ(found.credentials.password, "pass word\r\n");
  EXPECT_EQ(found.sentinel_credentials.username, "");
  EXPECT_EQ(found.sentinel_credentials.password, "other");
  EXPECT_TRUE(found.tls.enabled);
  EXPECT_FALSE(found.tls.verify);
  EXPECT_EQ(found.tls.ca, "/etc/my ca.pem");
}

TEST(SettingsTest, AUnixSocketMayHaveSpacesInItsPath) {
  Settings settings;
  settings.endpoint.addresses = {{"", 0, "/tmp/my folder/socket"}};
  settings.publish = "both";
  const Settings found = read(settings);
  EXPECT_EQ(found.endpoint.addresses, settings.endpoint.addresses);
  EXPECT_TRUE(found.endpoint.addresses[0].host.empty());
}

TEST(SettingsTest, WhatIsNotCompleteIsRefused) {
  Settings settings = known();
  EXPECT_FALSE(read_settings("").ok());
  EXPECT_FALSE(read_settings("*2\r\n$7\r\nnumbers").ok());
  settings.publish.clear();
  EXPECT_FALSE(read_settings(settings_text(settings)).ok());
  settings = known();
  settings.endpoint.addresses.clear();
  EXPECT_FALSE(read_settings(settings_text(settings)).ok());
}

}  // namespace
}  // namespace holdfast::guard
