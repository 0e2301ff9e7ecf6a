#include "redis/net/address_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "redis/net/support.h"

namespace holdfast::net {
namespace {

using Ports = std::vector<std::uint16_t>;

class AddressMemoryTest : public testing::Test {
 protected:
  Ports sorted(const Ports& resolved) {
    std::vector<SocketAddress> addresses;
    for (const std::uint16_t port : resolved) addresses.push_back(loopback(port));
    Ports ports;
    for (const SocketAddress& each : memory.sorted("name", addresses)) {
      sockaddr_in name{};
      std::memcpy(&name, &each.storage, sizeof name);
      ports.push_back(ntohs(name.sin_port));
    }
    return ports;
  }

  AddressMemory memory;
};

TEST_F(AddressMemoryTest, WhatIsNotKnownStaysInTheResolversOrder) {
  EXPECT_EQ(sorted({3, 1, 2}), (Ports{3, 1, 2}));
  EXPECT_EQ(memory.count("name"), 3U);
  EXPECT_EQ(memory.count("another"), 0U);
}

TEST_F(AddressMemoryTest, TheOneThatWasReachedIsFirstUntilItFails) {
  memory.reached("name", loopback(2));
  EXPECT_EQ(sorted({3, 1, 2}), (Ports{2, 3, 1}));
  memory.failed("name", loopback(3));
  EXPECT_EQ(sorted({3, 1, 2}), (Ports{2, 3, 1}));
  memory.failed("name", loopback(2));
  EXPECT_EQ(sorted({3, 1, 2}), (Ports{3, 1, 2}));
}

TEST_F(AddressMemoryTest, TheLatestThatProvedStaleIsLast) {
  for (const std::uint16_t port : {std::uint16_t{3}, std::uint16_t{1}}) {
    memory.reached("name", loopback(port));
    memory.proved_stale("name");
  }
  EXPECT_EQ(sorted({3, 1, 2}), (Ports{2, 3, 1}));
  memory.reached("name", loopback(3));
  memory.proved_stale("name");
  EXPECT_EQ(sorted({3, 1, 2}), (Ports{2, 1, 3}));
  memory.reached("name", loopback(3));
  EXPECT_EQ(sorted({3, 1, 2}), (Ports{3, 2, 1})) << "it was reached, and is in use";
}

TEST_F(AddressMemoryTest, ANewAddressIsNoticed) {
  sorted({1, 2});
  EXPECT_FALSE(memory.has_new("name", {loopback(2)}));
  EXPECT_TRUE(memory.has_new("name", {loopback(2), loopback(3)}));
  EXPECT_FALSE(memory.has_new("another", {loopback(3)})) << "it was never used";
}

}  // namespace
}  // namespace holdfast::net
