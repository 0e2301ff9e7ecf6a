#include "guard/settings.h"

#include <gtest/gtest.h>

#include <string>

#include "guard/held_page.h"
#include "guard/server.h"

namespace holdfast::guard {
namespace {

net::Address at(const std::string& host, std::uint16_t port) { return {host, port, {}}; }

Settings mapped_server() {
  Settings server;
  server.address = at("localhost", 17000);
  server.announced = at("10.0.0.1", 7000);
  server.address_map = {{at("10.0.0.1", 7000), at("localhost", 17000)},
                        {at("::1", 7001), at("localhost", 17001)}};
  server.publish = "publish";
  return server;
}

Settings sent(const Settings& server) {
  resp::Reader reader;
  const std::string bytes = server_message("1", server);
  reader.feed(bytes.data(), bytes.size());
  auto reply = reader.next();
  return read_message(*reply.value()).value().server.value();
}

TEST(Settings, AMapReachesTheGuard) {
  const Settings server = sent(mapped_server());
  EXPECT_EQ(server.address, at("localhost", 17000));
  EXPECT_EQ(server.announced, at("10.0.0.1", 7000));
  EXPECT_EQ(server.address_map, mapped_server().address_map);
}

TEST(Settings, WithoutAMapAServerIsCalledByItsAddress) {
  Settings server;
  server.address = at("127.0.0.1", 7000);
  server.publish = "publish";
  EXPECT_EQ(sent(server).announced, at("127.0.0.1", 7000));
  EXPECT_TRUE(sent(server).address_map.empty());
}

TEST(Servers, ARedirectionIsFollowedByTheMap) {
  auto page = HeldPage::make(1);
  ASSERT_TRUE(page.ok());
  const auto view = HeldPageView::open(page.value().fd());
  ASSERT_TRUE(view.ok());
  Servers servers(view.value(), {mapped_server()}, false);
  EXPECT_EQ(servers.find(at("10.0.0.1", 7000), 0), 0U);
  const std::size_t other = servers.find(at("::1", 7001), 0);
  ASSERT_EQ(other, 1U);
  EXPECT_EQ(servers.settings(other).address, at("localhost", 17001));
  EXPECT_EQ(servers.find(at("::1", 7001), 0), other);
}

}  // namespace
}  // namespace holdfast::guard
