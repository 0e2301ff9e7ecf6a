#include "redis/topology/sentinel_machine.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::topology {
namespace {

using Strings = std::vector<std::string>;
using Actions = SentinelMachine::Actions;

net::Address at(const std::string& host) { return {host, 1, {}}; }

Opinion names(const std::string& primary, std::uint64_t epoch, const Strings& others = {}) {
  Opinion opinion{at(primary), epoch, {}};
  for (const std::string& other : others) opinion.others.push_back(at(other));
  return opinion;
}

Opinion knows_none() { return {}; }

Strings hosts(const std::vector<net::Address>& addresses) {
  Strings hosts;
  for (const net::Address& address : addresses) hosts.push_back(address.host);
  return hosts;
}

// What is to be done, as words: a test reads as a script.
std::string words(const Actions& actions) {
  std::string text;
  for (const std::string& host : hosts(actions.leave)) text += "leave " + host + " ";
  for (const std::string& host : hosts(actions.watch)) text += "watch " + host + " ";
  if (actions.query) text += "query ";
  if (actions.move) {
    text += actions.move->ok() ? "move " + actions.move->value().host + " " : "nowhere ";
  }
  return text.empty() ? "-" : text.substr(0, text.size() - 1);
}

class SentinelMachineTest : public ::testing::Test {
 protected:
  void list(const Strings& sentinels) {
    std::vector<net::Address> addresses;
    for (const std::string& sentinel : sentinels) addresses.push_back(at(sentinel));
    machine.emplace("svc", addresses);
    start = machine->start();
  }
  // Of s1, s2 and s3 all name `primary`.
  void settle(const std::string& primary, std::uint64_t epoch) {
    list({"s1", "s2", "s3"});
    said("s1", names(primary, epoch));
    said("s2", names(primary, epoch));
    ASSERT_EQ(said("s3", names(primary, epoch)), "move " + primary);
    now += Millis(1000);
  }
  std::string said(const std::string& sentinel, const Opinion& opinion) {
    return words(machine->said(at(sentinel), opinion, now));
  }
  std::string failed(const std::string& sentinel, const Status& why = Status::unreachable("gone")) {
    last = machine->failed(at(sentinel), why, now);
    return words(last);
  }
  std::string tick() {
    now = machine->until();
    return words(machine->tick(now));
  }

  TimePoint now{std::chrono::hours(1)};
  std::optional<SentinelMachine> machine;
  Actions start;
  Actions last;
};

TEST_F(SentinelMachineTest, AtFirstAllAreAskedAndThePrimaryIsNowhere) {
  list({"s1", "s2", "s1"});
  EXPECT_EQ(words(start), "watch s1 watch s2 nowhere");
  EXPECT_EQ(machine->until(), kNever);
}

TEST_F(SentinelMachineTest, APrimaryThatIsKnownStaysUntilANewerEpochNamesAnotherOne) {
  machine.emplace("svc", std::vector<net::Address>{at("s1"), at("s2")}, at("p"));
  EXPECT_EQ(words(machine->start()), "watch s1 watch s2 move p");
  EXPECT_EQ(failed("s1"), "-");
  EXPECT_EQ(said("s2", names("p", 3)), "-");
  EXPECT_EQ(said("s1", names("other", 4)), "move other");
}

TEST_F(SentinelMachineTest, APrimaryThatIsKnownNeedsNoSentinel) {
  machine.emplace("svc", std::vector<net::Address>{at("s1")}, at("p"));
  EXPECT_EQ(failed("s1"), "-");
  EXPECT_EQ(machine->until(), kNever);
}

TEST_F(SentinelMachineTest, AllOpinionsCountAndTheNewestEpochIsBelieved) {
  list({"s1", "s2", "s3"});
  EXPECT_EQ(said("s1", names("old", 4)), "-");
  EXPECT_EQ(said("s2", names("old", 4)), "-");
  EXPECT_EQ(said("s3", names("new", 5)), "move new");
  EXPECT_EQ(machine->text(), "service 'svc' (new:1)");
}

TEST_F(SentinelMachineTest, OfEqualEpochsWhatMostName) {
  list({"s1", "s2", "s3"});
  said("s1", names("one", 0));
  said("s2", names("two", 0));
  EXPECT_EQ(said("s3", names("two", 0)), "move two");
}

TEST_F(SentinelMachineTest, AFailedSentinelIsNotWaitedFor) {
  list({"s1", "s2"});
  EXPECT_EQ(failed("s1"), "-");
  EXPECT_EQ(said("s2", names("p", 1)), "move p");
}

TEST_F(SentinelMachineTest, ASilentSentinelIsWaitedForNoLongerThanTheGrace) {
  list({"s1", "s2"});
  EXPECT_EQ(said("s1", names("p", 1)), "-");
  EXPECT_EQ(machine->until(), now + Millis(100));
  EXPECT_EQ(tick(), "move p");
  EXPECT_EQ(machine->until(), kNever);
}

TEST_F(SentinelMachineTest, FurtherSentinelsAreWatchedAndCount) {
  list({"s1"});
  EXPECT_EQ(said("s1", names("old", 1, {"s2", "s3"})), "watch s2 watch s3");
  EXPECT_EQ(said("s2", names("new", 2, {"s1", "s3"})), "-");
  EXPECT_EQ(said("s3", names("old", 1, {"s1", "s2"})), "move new");
}

TEST_F(SentinelMachineTest, ALearntSentinelIsLeftWhenItIsDownAndNoneNamesItAnyMore) {
  list({"s1"});
  said("s1", names("p", 1, {"s2"}));
  EXPECT_EQ(failed("s2"), "move p");
  EXPECT_EQ(said("s1", names("p", 1, {"s3"})), "leave s2 watch s3");
  EXPECT_EQ(said("s2", names("other", 9)), "-");
}

TEST_F(SentinelMachineTest, AListedSentinelIsNeverLeft) {
  list({"s1", "s2"});
  failed("s2");
  EXPECT_EQ(said("s1", names("p", 1)), "move p");
  EXPECT_EQ(said("s2", names("q", 2)), "move q");
}

TEST_F(SentinelMachineTest, WithAllDownEverybodyIsKept) {
  list({"s1"});
  said("s1", names("p", 1, {"s2"}));
  said("s2", names("p", 1, {"s1"}));
  EXPECT_EQ(failed("s1"), "-");
  EXPECT_EQ(failed("s2"), "-");
  EXPECT_EQ(said("s2", names("q", 2, {"s1"})), "move q");
}

TEST_F(SentinelMachineTest, ANewerEpochMovesAtOnce) {
  settle("p", 1);
  EXPECT_EQ(said("s2", names("q", 2)), "move q");
}

TEST_F(SentinelMachineTest, WhatOthersLearnLateIsNoChange) {
  settle("p", 3);
  EXPECT_EQ(said("s2", names("q", 2)), "-");
  EXPECT_EQ(said("s3", names("q", 3)), "-");
  EXPECT_EQ(said("s3", names("p", 4)), "-");
  EXPECT_EQ(said("s3", names("q", 4)), "-");
}

TEST_F(SentinelMachineTest, WithoutSentinelsTheKnownPrimaryStays) {
  settle("p", 1);
  EXPECT_EQ(failed("s1") + failed("s2") + failed("s3"), "---");
  EXPECT_EQ(words(machine->doubt()), "query");
  EXPECT_EQ(failed("s1"), "-");
}

TEST_F(SentinelMachineTest, InDoubtAllAreQueriedOnce) {
  settle("p", 7);
  EXPECT_EQ(words(machine->doubt()), "query");
  EXPECT_EQ(words(machine->doubt()), "-");
  EXPECT_EQ(said("s1", names("p", 7)), "-");
  EXPECT_EQ(said("s2", names("p", 7)), "-");
  EXPECT_EQ(said("s3", names("q", 8)), "move q");
}

TEST_F(SentinelMachineTest, InDoubtAStaleSentinelIsOutvoted) {
  settle("p", 7);
  machine->doubt();
  said("s1", names("old", 6));
  said("s2", names("old", 6));
  EXPECT_EQ(said("s3", names("p", 7)), "-");
}

TEST_F(SentinelMachineTest, InDoubtSentinelsThatWereSetUpAgainAreBelieved) {
  settle("p", 7);
  machine->doubt();
  said("s1", names("q", 0));
  said("s2", names("q", 0));
  EXPECT_EQ(said("s3", names("q", 0)), "move q");
}

TEST_F(SentinelMachineTest, AConfirmedPrimaryMayBeDoubtedAgain) {
  settle("p", 1);
  machine->doubt();
  said("s1", names("p", 1));
  EXPECT_EQ(tick(), "-");
  EXPECT_EQ(words(machine->doubt()), "query");
}

TEST_F(SentinelMachineTest, WhereThereIsATieWhatIsKnownStays) {
  settle("p", 1);
  machine->doubt();
  failed("s3");
  said("s1", names("q", 1));
  EXPECT_EQ(said("s2", names("p", 1)), "-");
}

TEST_F(SentinelMachineTest, AServiceThatNoneKnowsIsRefusedByItsName) {
  list({"s1", "s2"});
  said("s1", knows_none());
  last = machine->said(at("s2"), knows_none(), now);
  ASSERT_EQ(words(last), "nowhere");
  EXPECT_EQ(last.move->status().code(), Code::kServer);
  EXPECT_NE(last.move->status().message().find("'svc'"), std::string::npos);
  EXPECT_EQ(said("s2", names("p", 1)), "move p");
}

TEST_F(SentinelMachineTest, ASentinelThatDoesNotKnowTheServiceIsOutvoted) {
  list({"s1", "s2"});
  said("s1", knows_none());
  EXPECT_EQ(said("s2", names("p", 0)), "move p");
  EXPECT_EQ(said("s1", knows_none()), "-");
}

TEST_F(SentinelMachineTest, ARefusalWeighsMoreThanSilence) {
  list({"s1", "s2"});
  EXPECT_EQ(failed("s1", Status::server("WRONGPASS", "s1 refused")), "-");
  EXPECT_EQ(failed("s2"), "nowhere");
  EXPECT_EQ(last.move->status().word(), "WRONGPASS");
  EXPECT_EQ(last.move->status().message(),
            "service 'svc': sentinel s1 refused (sentinels have separate users: "
            "sentinel_username, sentinel_password)");
}

TEST_F(SentinelMachineTest, WithoutAnAnswerTheSentinelsAreNamedAndWhatIsWrongWithThem) {
  list({"s1", "s2"});
  failed("s1", Status::unreachable("s1 is off"));
  failed("s2", Status::unreachable("s2 is off"));
  const Status& why = last.move->status();
  EXPECT_EQ(why.code(), Code::kUnreachable);
  EXPECT_EQ(why.message(),
            "service 'svc': none of its sentinels (s1:1, s2:1) has answered; are they running and "
            "reachable there?; s1 is off; s2 is off");
}

TEST_F(SentinelMachineTest, WhatNamesHundredsIsNoSentinel) {
  list({"s1"});
  Strings many;
  for (int i = 0; i < 1000; ++i) many.push_back("x" + std::to_string(i));
  const Actions actions = machine->said(at("s1"), names("p", 1, many), now);
  EXPECT_EQ(actions.watch.size(), 31U);
}

}  // namespace
}  // namespace holdfast::topology
