#include <gtest/gtest.h>

#include <string>

#include "redis/topology/slots_query.h"

namespace holdfast::topology {
namespace {

using Kind = Redirection::Kind;

const net::Address kAsked{"10.0.0.1", 7000, {}};

resp::Reply parse(const std::string& bytes) {
  resp::Reader reader;
  reader.feed(bytes.data(), bytes.size());
  return std::move(*reader.next().value());
}

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::string node(const std::string& host, int port, const std::string& more = "*0\r\n") {
  return "*4\r\n" + host + ":" + std::to_string(port) + "\r\n" + bulk("id") + more;
}

std::string range(int first, int last, const std::string& nodes, int count) {
  return "*" + std::to_string(2 + count) + "\r\n:" + std::to_string(first) +
         "\r\n:" + std::to_string(last) + "\r\n" + nodes;
}

net::Address moved_to(const std::string& error) { return redirection(error, kAsked).address; }

TEST(RedirectionTest, SaysWhereTheSlotIs) {
  const Redirection moved = redirection("MOVED 3999 127.0.0.1:6381", kAsked);
  EXPECT_EQ(moved.kind, Kind::kMoved);
  EXPECT_EQ(moved.slot, 3999);
  EXPECT_EQ(moved.address.text(), "127.0.0.1:6381");
  EXPECT_EQ(redirection("ASK 1 db.example:7", kAsked).kind, Kind::kAsk);
}

TEST(RedirectionTest, KnowsHostsOfEveryForm) {
  EXPECT_EQ(moved_to("MOVED 1 db.example:7").text(), "db.example:7");
  EXPECT_EQ(moved_to("MOVED 1 2001:db8::1:7").text(), "[2001:db8::1]:7");
  EXPECT_EQ(moved_to("MOVED 1 :7").text(), "10.0.0.1:7");
  EXPECT_EQ(moved_to("MOVED 1 ?:7").text(), "10.0.0.1:7");
}

TEST(RedirectionTest, WhatIsNoneIsForTheCaller) {
  for (const char* error :
       {"ERR unknown", "NOSCRIPT no", "TRYAGAIN later", "MOVED", "MOVED x h:1", "MOVED 16384 h:1",
        "MOVED 1 h", "MOVED 1 h:0", "MOVED 1 h:65536", "MOVED 1 h:7x", "MOVEDX 1 h:7"}) {
    EXPECT_EQ(redirection(error, kAsked).kind, Kind::kNone) << error;
  }
}

TEST(RedirectionTest, AServerOutOfItsPlaceIsAChange) {
  for (const char* error : {"CLUSTERDOWN Hash slot not served", "READONLY no", "MASTERDOWN no"}) {
    EXPECT_EQ(redirection(error, kAsked).kind, Kind::kStale) << error;
  }
}

TEST(SlotsReplyTest, NamesPrimariesAndReplicas) {
  const resp::Reply reply =
      parse("*2\r\n" + range(0, 99, node(bulk("a"), 1) + node(bulk("b"), 2), 2) +
            range(100, 16383, node(bulk("::1"), 3), 1));
  const auto ranges = read_slots(reply, kAsked);
  ASSERT_TRUE(ranges.ok()) << ranges.status().message();
  ASSERT_EQ(ranges.value().size(), 2U);
  EXPECT_EQ(ranges.value()[0].last, 99);
  EXPECT_EQ(ranges.value()[0].primary.text(), "a:1");
  ASSERT_EQ(ranges.value()[0].replicas.size(), 1U);
  EXPECT_EQ(ranges.value()[0].replicas[0].text(), "b:2");
  EXPECT_EQ(ranges.value()[1].primary.text(), "[::1]:3");
}

TEST(SlotsReplyTest, AMissingHostIsTheOneThatWasQueried) {
  for (const std::string& host : {bulk(""), bulk("?"), std::string("$-1\r\n")}) {
    const resp::Reply reply = parse("*1\r\n" + range(0, 1, node(host, 8), 1));
    EXPECT_EQ(read_slots(reply, kAsked).value()[0].primary.text(), "10.0.0.1:8");
  }
}

TEST(SlotsReplyTest, AnAddressAmongTheDetailsIsBetter) {
  const std::string more = "*2\r\n" + bulk("ip") + bulk("10.0.0.9");
  const resp::Reply reply = parse("*1\r\n" + range(0, 1, node(bulk("?"), 8, more), 1));
  EXPECT_EQ(read_slots(reply, kAsked).value()[0].primary.text(), "10.0.0.9:8");
}

TEST(SlotsReplyTest, WhatSaysNothingOfSlotsIsAFailure) {
  for (const std::string& bytes :
       {std::string("*0\r\n"), std::string("+OK\r\n"), std::string("-ERR unknown command\r\n"),
        "*1\r\n" + range(0, 16384, node(bulk("a"), 1), 1),
        "*1\r\n" + range(5, 4, node(bulk("a"), 1), 1),
        "*1\r\n" + range(0, 1, node(bulk("a"), 0), 1), "*1\r\n" + range(0, 1, "", 0)}) {
    EXPECT_FALSE(read_slots(parse(bytes), kAsked).ok()) << bytes;
  }
}

TEST(SlotsReplyTest, ASingleServerIsRecognized) {
  const resp::Reply reply = parse("-ERR This instance has cluster support disabled\r\n");
  EXPECT_NE(read_slots(reply, kAsked).status().message().find("use redis://"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::topology
