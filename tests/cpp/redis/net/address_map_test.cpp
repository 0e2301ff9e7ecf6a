#include <gtest/gtest.h>
#include <poll.h>

#include <string>

#include "redis/net/endpoint.h"

namespace holdfast::net {
namespace {

Address at(const std::string& host, std::uint16_t port) { return {host, port, {}}; }

TEST(AddressMap, ATableAnswersAtOnce) {
  AddressMap map({{at("10.0.0.1", 7000), at("localhost", 17000)}}, {});
  const auto request = map.request(at("10.0.0.1", 7000));
  ASSERT_TRUE(request->done());
  EXPECT_EQ(request->take().value(), at("localhost", 17000));
}

TEST(AddressMap, WhatIsNotInTheTableIsReachableWhereItIsAnnounced) {
  AddressMap map({{at("10.0.0.1", 7000), at("localhost", 17000)}}, {});
  EXPECT_EQ(map.request(at("10.0.0.1", 7001))->take().value(), at("10.0.0.1", 7001));
  EXPECT_EQ(map.request(at("10.0.0.2", 7000))->take().value(), at("10.0.0.2", 7000));
}

TEST(AddressMap, TheNewestAnswersOfASourceAreKnown) {
  AddressMap map({}, [](const Address&) { return std::make_shared<AddressRequest>(); });
  EXPECT_TRUE(map.known().empty());
  map.note(at("a", 1), at("old", 1));
  map.note(at("a", 1), at("new", 1));
  ASSERT_EQ(map.known().size(), 1U);
  EXPECT_EQ(mapped(map.known(), at("a", 1)), at("new", 1));
  for (std::uint16_t port = 2; port <= 2 + AddressMap::kMostKnown; ++port) {
    map.note(at("a", port), at("new", port));
  }
  EXPECT_EQ(map.known().size(), AddressMap::kMostKnown);
  EXPECT_EQ(mapped(map.known(), at("a", 1)), at("a", 1));
}

TEST(ValueRequest, AnAnswerMakesItsDescriptorReadable) {
  AddressRequest request;
  ASSERT_FALSE(request.done());
  pollfd waited{request.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&waited, 1, 0), 0);
  request.answer(at("localhost", 1));
  EXPECT_TRUE(request.done());
  EXPECT_EQ(poll(&waited, 1, 0), 1);
  EXPECT_EQ(request.take().value(), at("localhost", 1));
}

}  // namespace
}  // namespace holdfast::net
