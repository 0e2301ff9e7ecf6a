#include "locks/sync/operation/ticket.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "locks/base/types.h"

namespace holdfast::sync {
namespace {

constexpr const char* kField = "5921d8b5-5d8d-8a2b-800b-a469f20f66c2:4503599627370513";

Ticket plain() { return {"lock", kField, {}, Millis(30000), Millis(0), "myLock"}; }

TEST(Ticket, IsPrintableAscii) {
  EXPECT_EQ(to_text(plain()), "holdfast-1:lock:" + std::string(kField) + "::30000:0:myLock");
  const Ticket fenced{"fenced_lock", kField, 1234567, Millis(1), Millis(9), "a:b\xff\n %{x}"};
  EXPECT_EQ(to_text(fenced), "holdfast-1:fenced_lock:" + std::string(kField) +
                                 ":1234567:1:9:a%3Ab%FF%0A%20%25%7Bx%7D");
}

TEST(Ticket, ComesBackFromItsText) {
  for (const char* kind : {"lock", "fair_lock", "write_lock", "fenced_lock"}) {
    std::string name;
    for (int byte = 0; byte < 256; ++byte) name += static_cast<char>(byte);
    Ticket ticket{kind, kField, {}, Millis(std::int64_t{1} << 53), Millis(5), name};
    if (ticket.kind == "fenced_lock") ticket.token = INT64_MAX;
    const Result<Ticket> read = parse_ticket(to_text(ticket));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read.value().kind, ticket.kind);
    EXPECT_EQ(read.value().field, ticket.field);
    EXPECT_EQ(read.value().token, ticket.token);
    EXPECT_EQ(read.value().lease, ticket.lease);
    EXPECT_EQ(read.value().minimum, ticket.minimum);
    EXPECT_EQ(read.value().name, ticket.name);
  }
}

TEST(Ticket, EverythingElseIsRefused) {
  const std::string field(kField);
  const std::vector<std::string> bad = {
      "",
      "myLock",
      "holdfast-2:lock:" + field + "::30000:0:myLock",
      "holdfast-1:spin_lock:" + field + "::30000:0:myLock",
      "holdfast-1:lock:" + field + ":7:30000:0:myLock",        // a token of no fenced lock
      "holdfast-1:fenced_lock:" + field + "::30000:0:myLock",  // a fenced lock without one
      "holdfast-1:lock:" + field + "::0:0:myLock",
      "holdfast-1:lock:" + field + "::-1:0:myLock",
      "holdfast-1:lock:" + field + "::030000:0:myLock",
      "holdfast-1:lock:" + field + "::+30000:0:myLock",
      "holdfast-1:lock:" + field + "::30000:-1:myLock",
      "holdfast-1:lock:" + field + "::9007199254740993:0:myLock",
      "holdfast-1:lock:" + field + "::99999999999999999999:0:myLock",
      "holdfast-1:lock:" + field + "::30000:0:",
      "holdfast-1:lock:" + field + "::30000:0:my:Lock",
      "holdfast-1:lock:" + field + "::30000:0:my Lock",
      "holdfast-1:lock:" + field + "::30000:0:%6Dy",  // an escape without need
      "holdfast-1:lock:" + field + "::30000:0:%ff",
      "holdfast-1:lock:" + field + "::30000:0:%F",
      "holdfast-1:lock:" + field + "::30000:0:%",
      "holdfast-1:lock:" + field + "::30000",
      "holdfast-1:lock:" + field,
      "holdfast-1:lock:5921D8B5-5d8d-8a2b-800b-a469f20f66c2:4503599627370513::30000:0:myLock",
      "holdfast-1:lock:5921d8b5-5d8d-8a2b-800b-a469f20f66c2:0::30000:0:myLock",
      "holdfast-1:lock:5921d8b5-5d8d-8a2b-800b-a469f20f66c2:01::30000:0:myLock",
      "holdfast-1:lock:5921d8b5-5d8d-8a2b-800b-a469f20f66c2:::30000:0:myLock",
      "holdfast-1:lock:5921d8b5x5d8d-8a2b-800b-a469f20f66c2:4503599627370513::30000:0:myLock",
      " " + to_text(plain()),
      to_text(plain()) + "\n",
      to_text(plain()) + std::string(1, '\0'),
  };
  for (const std::string& text : bad) EXPECT_FALSE(parse_ticket(text).ok()) << text;
}

TEST(Ticket, NamesNoOwner) {
  const std::string uuid = "5921d8b5-5d8d-8a2b-800b-a469f20f66c2:";
  for (const std::uint64_t number :
       {std::uint64_t{1}, kFirstOwnerNumber, kOwnerNumbersEnd - 1, kTicketNumbersEnd}) {
    Ticket ticket = plain();
    ticket.field = uuid + std::to_string(number);
    EXPECT_FALSE(parse_ticket(to_text(ticket)).ok()) << number;
  }
  for (const std::uint64_t number : {kOwnerNumbersEnd, kTicketNumbersEnd - 1}) {
    Ticket ticket = plain();
    ticket.field = uuid + std::to_string(number);
    EXPECT_TRUE(parse_ticket(to_text(ticket)).ok()) << number;
  }
  for (int i = 0; i < 100; ++i) {
    Ticket ticket = plain();
    ticket.field = owner_field("5921d8b5-5d8d-8a2b-800b-a469f20f66c2", next_owner_number());
    EXPECT_FALSE(parse_ticket(to_text(ticket)).ok()) << ticket.field;
  }
}

TEST(Ticket, WhatIsAcceptedHasOneSpelling) {
  std::mt19937 random(7);
  const std::string whole =
      to_text({"fenced_lock", kField, 1234567, Millis(30000), Millis(5), "a %:b"});
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = whole;
    for (std::size_t edits = random() % 3 + 1; edits > 0; --edits) {
      text[random() % text.size()] = static_cast<char>(random() % 256);
    }
    if (random() % 4 == 0) text.resize(random() % text.size());
    const Result<Ticket> read = parse_ticket(text);
    if (!read.ok()) continue;
    ++accepted;
    EXPECT_EQ(to_text(read.value()), text);
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace holdfast::sync
