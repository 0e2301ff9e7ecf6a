// Which thread reads a stream: the table of states, row by row, without a stream.

#include "redis/client/reader_election.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::client {
namespace {

using Action = ReaderElection::Action;
using Reader = ReaderElection::Reader;

constexpr TimePoint kStart{std::chrono::hours(1)};
constexpr TimePoint kUnreadEnd = kStart + ReaderElection::kUnread;

struct Thread {
  Parker parker;
  ServeControl control;
  ReaderElection::Place place{&parker, &control};
};

bool is_nothing(const Action& action) {
  return action.wake == nullptr && !action.drive && action.drive_at == kNever;
}

class ElectionFixture : public ::testing::Test {
 protected:
  explicit ElectionFixture(Reader reader) : election(reader) {}

  bool enters(Thread& thread, bool something = true) {
    return election.enter(thread.place, something).reads;
  }

  ReaderElection election;
  Thread first;
  Thread second;
  Thread third;
};

// Of a Connection: no thread waits, and none reads.
class ReaderElectionTest : public ElectionFixture {
 protected:
  ReaderElectionTest() : ElectionFixture(Reader::kNone) {}
};

// Of a Subscriber: the loop reads while no thread does.
class LoopReadsFirst : public ElectionFixture {
 protected:
  LoopReadsFirst() : ElectionFixture(Reader::kLoop) {}

  // None reads, and `parked` of two threads wait.
  void make_vacant(int parked) {
    ASSERT_TRUE(enters(first));
    if (parked > 0) enters(second);
    if (parked > 1) enters(third);
    election.leave(kUnreadEnd);
  }
};

TEST_F(ReaderElectionTest, TheFirstThreadReadsAndTheNextParks) {
  EXPECT_TRUE(enters(first));
  EXPECT_EQ(election.reader(), Reader::kThread);
  EXPECT_TRUE(election.is_reader(first.parker));
  EXPECT_FALSE(enters(second));
  EXPECT_TRUE(election.has_parked());
}

TEST_F(ReaderElectionTest, WithNothingToReadAThreadParks) {
  EXPECT_FALSE(enters(first, false));
  EXPECT_TRUE(election.vacant());
}

TEST_F(ReaderElectionTest, AThreadDoesNotReplaceALoopThatReads) {
  election.begin_step();
  EXPECT_FALSE(enters(first));
  election.let_event_loop_read();
  EXPECT_FALSE(enters(second));
  EXPECT_EQ(election.reader(), Reader::kEventLoop);
}

TEST_F(ReaderElectionTest, WhatIsAwaitedCallsTheFirstParkedThread) {
  enters(first, false);
  enters(second, false);
  const Action action = election.submit(nullptr);
  EXPECT_EQ(action.wake, &first.parker);
  EXPECT_FALSE(action.drive);
  EXPECT_FALSE(election.vacant()) << "it is on its way";
  election.unlink(first.place);
  EXPECT_TRUE(election.vacant());
}

TEST_F(ReaderElectionTest, WithoutAThreadTheLoopIsDriven) {
  const Action action = election.submit(nullptr);
  EXPECT_EQ(action.wake, nullptr);
  EXPECT_TRUE(action.drive);
}

TEST_F(ReaderElectionTest, AThreadThatIsOnItsWayIsNotCalled) {
  enters(second, false);
  EXPECT_TRUE(is_nothing(election.submit(&first.parker)));
  EXPECT_TRUE(election.vacant());
  EXPECT_EQ(election.submit(&second.parker).wake, &second.parker);
}

TEST_F(ReaderElectionTest, AThreadWhoseWaitIsOverLeavesWithoutTheLock) {
  enters(first);
  enters(second);
  enters(third);
  second.control.done = true;
  election.reply();
  EXPECT_FALSE(second.place.linked);
  EXPECT_TRUE(third.place.linked);
  election.leave();
  EXPECT_EQ(election.submit(nullptr).wake, &third.parker);
}

TEST_F(ReaderElectionTest, ACalledThreadWhoseWaitIsOverMakesRoomForTheNext) {
  enters(first, false);
  election.submit(nullptr);
  first.control.done = true;
  election.reply();
  EXPECT_TRUE(election.vacant());
}

TEST_F(ReaderElectionTest, WhatNoCallerAwaitsStaysUnreadForAMoment) {
  EXPECT_EQ(election.leave_unread(kStart).drive_at, kUnreadEnd);
  EXPECT_EQ(election.unread_until(), kUnreadEnd);
  EXPECT_TRUE(is_nothing(election.leave_unread(kStart + Millis(1)))) << "the loop knows";
}

TEST_F(ReaderElectionTest, AnEventLoopReadsUntilItsLeaseIsReclaimed) {
  election.begin_step();
  election.let_event_loop_read();
  EXPECT_EQ(election.reader(), Reader::kEventLoop);
  EXPECT_TRUE(election.reclaim().drive);
  EXPECT_EQ(election.reader(), Reader::kLoop);
  election.leave();
  EXPECT_TRUE(election.vacant());
}

TEST_F(ReaderElectionTest, AnOrderReachesTheReader) {
  EXPECT_TRUE(is_nothing(election.interrupt()));
  enters(first);
  EXPECT_EQ(election.interrupt().wake, &first.parker);
  EXPECT_FALSE(election.interrupt().drive);
  election.leave();
  election.begin_step();
  EXPECT_TRUE(election.interrupt().drive);
  election.let_event_loop_read();
  EXPECT_TRUE(election.interrupt().drive);
  EXPECT_EQ(election.interrupt().wake, nullptr);
}

TEST_F(ReaderElectionTest, AStepIsAskedForOnceUntilItBegins) {
  EXPECT_TRUE(election.ask_for_step());
  EXPECT_FALSE(election.ask_for_step());
  election.begin_step();
  EXPECT_TRUE(election.ask_for_step());
}

TEST_F(ReaderElectionTest, AnEndedStreamLeavesItVacant) {
  EXPECT_TRUE(is_nothing(election.change_stream()));
  EXPECT_TRUE(election.vacant());
}

TEST_F(LoopReadsFirst, AThreadThatReadsReplacesTheLoop) {
  const ReaderElection::Entry entry = election.enter(first.place, true);
  EXPECT_TRUE(entry.reads);
  EXPECT_TRUE(entry.action.drive) << "the loop polls the stream no longer";
  election.leave(kUnreadEnd);
  EXPECT_FALSE(election.enter(second.place, true).action.drive) << "no loop has been reading";
}

TEST_F(LoopReadsFirst, WithoutAStreamAThreadParksBehindTheLoop) {
  EXPECT_FALSE(enters(first, false));
  EXPECT_EQ(election.reader(), Reader::kLoop);
}

TEST_F(LoopReadsFirst, AThreadThatLeavesLetsMessagesStayUnreadForAMoment) {
  ASSERT_TRUE(enters(first));
  EXPECT_EQ(election.leave(kUnreadEnd).drive_at, kUnreadEnd);
  EXPECT_EQ(election.reader(), Reader::kNone);
  EXPECT_FALSE(election.unread_too_long(kStart));
  EXPECT_TRUE(election.unread_too_long(kUnreadEnd));
}

TEST_F(LoopReadsFirst, AThreadThatFitsIsCalled) {
  make_vacant(2);
  const auto is_third = [this](const ReaderElection::Place& each) {
    return each.parker == &third.parker;
  };
  EXPECT_EQ(election.call(is_third).wake, &third.parker);
  election.unlink(third.place);
  EXPECT_TRUE(is_nothing(election.call(is_third)));
}

TEST_F(LoopReadsFirst, AParkedThreadIsCalledWhenMessagesStayedUnread) {
  make_vacant(1);
  EXPECT_TRUE(is_nothing(election.tick(kStart, true))) << "not for long";
  EXPECT_EQ(election.tick(kUnreadEnd, true).wake, &second.parker);
  EXPECT_EQ(election.unread_until(), kUnreadEnd + ReaderElection::kUnread);
  EXPECT_EQ(election.reader(), Reader::kNone);
}

TEST_F(LoopReadsFirst, WithoutAThreadTheLoopReadsWhatIsWanted) {
  make_vacant(0);
  election.tick(kUnreadEnd, true);
  EXPECT_EQ(election.reader(), Reader::kLoop);
}

TEST_F(LoopReadsFirst, WhatNoWaiterWantsStaysUnread) {
  make_vacant(0);
  election.tick(kUnreadEnd, false);
  EXPECT_EQ(election.reader(), Reader::kNone);
  EXPECT_EQ(election.unread_until(), kNever);
}

TEST_F(LoopReadsFirst, BeforeAMessageAThreadIsCalledOrTheLoopReads) {
  make_vacant(1);
  const Action action = election.expect(kStart - Millis(1));
  EXPECT_EQ(action.wake, &second.parker);
  EXPECT_EQ(action.drive_at, kUnreadEnd - Millis(1)) << "the loop sees whether it came";
  election.unlink(second.place);
  EXPECT_TRUE(election.expect(kStart).drive);
  EXPECT_EQ(election.reader(), Reader::kLoop);
  EXPECT_TRUE(is_nothing(election.expect(kStart)));
}

TEST_F(LoopReadsFirst, AWaiterWithoutAThreadEndsTheThreadsReading) {
  ASSERT_TRUE(enters(first));
  const Action action = election.loop_reads();
  EXPECT_EQ(action.wake, &first.parker);
  EXPECT_TRUE(action.drive);
  EXPECT_FALSE(election.is_reader(first.parker));
  EXPECT_EQ(election.reader(), Reader::kLoop);
}

TEST_F(LoopReadsFirst, ANewStreamIsTheLoopsUnlessAThreadReads) {
  ASSERT_TRUE(enters(first));
  EXPECT_EQ(election.change_stream().wake, &first.parker);
  EXPECT_EQ(election.reader(), Reader::kThread);
  election.leave(kUnreadEnd);
  EXPECT_TRUE(is_nothing(election.change_stream()));
  EXPECT_EQ(election.reader(), Reader::kLoop);
}

}  // namespace
}  // namespace holdfast::client
