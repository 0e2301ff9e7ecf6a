#include "locks/lease/note_book.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "locks/sync/recipes/kinds.h"

namespace holdfast::lease {
namespace {

constexpr TimePoint kNow{std::chrono::hours(1)};
constexpr Millis kPeriod = NoteBook::kPeriod;

class NoteBookTest : public ::testing::Test {
 protected:
  NoteBookTest() {
    book.key = hold("key");
    book.all = true;
  }

  static HoldPtr hold(const char* name, OwnerNumber owner = OwnerNumber{1}) {
    Grant grant{LockName(name), owner, 1, {}, kNow, &sync::lock_recipe()};
    grant.at = kNow;
    HoldPtr made(new Hold(grant, grant.owner));
    made->noted = Noted::kDue;
    return made;
  }
  // Its first command has said what is so.
  void begin() { EXPECT_EQ(book.work(kNow).within, NoteBook::kWithin); }

  NoteBook book;
};

TEST_F(NoteBookTest, HoldIsDueOnceItHasLasted) {
  const HoldPtr lasting = hold("lock");
  EXPECT_EQ(NoteBook::due(*lasting), after(kNow, kPeriod));
  book.add(*lasting);
  EXPECT_EQ(NoteBook::due(*lasting), kNever);
}

TEST_F(NoteBookTest, HoldsOfOnePeriodAreWrittenTogether) {
  begin();
  const HoldPtr first = hold("first");
  const HoldPtr second = hold("second");
  book.add(*first);
  EXPECT_EQ(book.next(), after(kNow, kPeriod));
  EXPECT_FALSE(book.work(kNow).writes());
  book.add(*second);
  const NoteBook::Work work = book.work(after(kNow, kPeriod));
  ASSERT_EQ(work.written.size(), 2U);
  EXPECT_EQ(work.written.front().hold, first);
  EXPECT_FALSE(work.within);
  EXPECT_EQ(book.next(), kNever);
}

TEST_F(NoteBookTest, HoldThatHasEndedIsNotWritten) {
  begin();
  const HoldPtr ended = hold("lock");
  EXPECT_FALSE(book.end(*hold("another")));
  book.add(*ended);
  EXPECT_TRUE(book.end(*ended));
  EXPECT_FALSE(book.end(*ended));
  EXPECT_TRUE(book.work(after(kNow, kPeriod)).written.empty());
}

TEST_F(NoteBookTest, KeySaysWhetherSomeAreLeftOut) {
  begin();
  std::vector<HoldPtr> all;
  for (std::size_t i = 0; i <= NoteBook::kMost; ++i) {
    all.push_back(hold("lock", OwnerNumber{i}));
    book.add(*all.back());
  }
  const NoteBook::Work full = book.work(after(kNow, kPeriod));
  EXPECT_EQ(full.written.size(), NoteBook::kMost);
  EXPECT_EQ(full.within, Millis(0));
  EXPECT_FALSE(book.end(*all.back()));
  EXPECT_EQ(book.work(after(kNow, 2 * kPeriod)).within, NoteBook::kWithin);
}

TEST_F(NoteBookTest, KeyThatWasMadeAgainGetsEveryNoteAgain) {
  struct Entry {
    HoldPtr hold;
  };
  begin();
  Entry entry{hold("lock")};
  book.said(*entry.hold, Purpose(new PurposeText("nightly")));
  book.key_made(std::vector<const Entry*>{&entry});
  const NoteBook::Work work = book.work(after(kNow, kPeriod));
  ASSERT_EQ(work.written.size(), 1U);
  EXPECT_EQ(work.written.front().purpose->text, "nightly");
  EXPECT_TRUE(work.written.front().keeps);
  EXPECT_EQ(work.within, NoteBook::kWithin);
}

TEST_F(NoteBookTest, GrantBehindAnUnknownScriptIsWritten) {
  begin();
  EXPECT_TRUE(book.take_unknown_script());
  EXPECT_FALSE(book.take_unknown_script());
  const HoldPtr granted = hold("lock");
  book.unsaid({granted->name, granted->owner}, nullptr);
  book.said(*granted, Purpose(new PurposeText("nightly")));
  EXPECT_EQ(book.work(after(kNow, kPeriod)).written.size(), 1U);
  EXPECT_TRUE(book.take_unknown_script());
}

TEST_F(NoteBookTest, NotesOfEndedHoldsAreRemovedTogether) {
  begin();
  book.remove(LockName("first"), OwnerNumber{1});
  book.remove(LockName("second"), OwnerNumber{1});
  EXPECT_EQ(book.next(), after(kNow, kPeriod));
  EXPECT_TRUE(book.work(kNow).removed.empty());
  EXPECT_EQ(book.work(after(kNow, kPeriod)).removed.size(), 2U);
  EXPECT_EQ(book.next(), kNever);
}

TEST_F(NoteBookTest, NoteThatIsReplacedIsNotRemoved) {
  begin();
  const LockName name("lock");
  EXPECT_FALSE(book.replace(name, OwnerNumber{1}));
  book.remove(name, OwnerNumber{1});
  EXPECT_FALSE(book.replace(name, OwnerNumber{2}));
  EXPECT_TRUE(book.replace(name, OwnerNumber{1}));
  EXPECT_TRUE(book.work(after(kNow, kPeriod)).removed.empty());
}

TEST_F(NoteBookTest, NoteThatIsReplacedWhileItsRemovalIsOnItsWayIsLeftOutOfIt) {
  begin();
  const LockName name("lock");
  book.remove(name, OwnerNumber{1});
  const NoteBook::Work work = book.work(after(kNow, kPeriod));
  ASSERT_EQ(work.removed.size(), 1U);
  EXPECT_FALSE(work.removed.front().replaced->load());
  EXPECT_TRUE(book.replace(name, OwnerNumber{1}));
  EXPECT_TRUE(work.removed.front().replaced->load());
}

TEST_F(NoteBookTest, RemovalWithoutAnAnswerIsSentAgain) {
  begin();
  const LockName name("lock");
  book.remove(name, OwnerNumber{1});
  const NoteBook::Work work = book.work(after(kNow, kPeriod));
  book.answered(work.removed, false);
  const NoteBook::Work again = book.work(after(kNow, 2 * kPeriod));
  ASSERT_EQ(again.removed.size(), 1U);
  book.answered(again.removed, true);
  EXPECT_FALSE(book.replace(name, OwnerNumber{1}));
}

TEST_F(NoteBookTest, NoteOfAnOwnerThatHasEndedIsRemovedAtItsTime) {
  begin();
  const auto noted = hold("lock");
  book.said(*noted, Purpose(new PurposeText("nightly")));
  EXPECT_TRUE(book.end(*noted, after(kNow, Millis(5))));
  EXPECT_EQ(book.next(), after(kNow, Millis(5)));
  EXPECT_TRUE(book.work(kNow).removed.empty());
  EXPECT_EQ(book.work(after(kNow, Millis(5))).removed.size(), 1U);
}

TEST_F(NoteBookTest, NothingIsSentWithoutAKey) {
  NoteBook without;
  without.remove(LockName("lock"), OwnerNumber{1});
  EXPECT_EQ(without.next(), kNever);
  EXPECT_TRUE(without.work(kNow).removed.empty());
}

}  // namespace
}  // namespace holdfast::lease
