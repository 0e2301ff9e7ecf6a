#include "guard/held_page.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <set>
#include <string>

namespace holdfast::guard {
namespace {

constexpr TimePoint kNow{std::chrono::hours(1)};

HeldRecord record(const std::string& name, TimePoint deadline = kNow + Millis(1)) {
  return {3, name, "owner of " + name, deadline};
}

HeldPage page_for(std::uint32_t capacity) {
  auto made = HeldPage::make(capacity);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made.value());
}

std::multiset<std::string> names(const HeldPage& page) {
  const auto view = HeldPageView::open(page.fd());
  std::multiset<std::string> found;
  for (const HeldRecord& one : view.value().held(kNow)) found.insert(one.name);
  return found;
}

// A record of the page, as another process may find it.
PageRecord* raw(const HeldPage& page, HeldPage::Id id) {
  const HeldPage::Slot slot = HeldPage::slot_of(id);
  const std::size_t size = sizeof(PageLayout) + (slot + 1) * sizeof(PageRecord);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, page.fd(), 0);
  return reinterpret_cast<PageRecord*>(static_cast<PageLayout*>(memory) + 1) + slot;
}

TEST(HeldPageTest, AHoldIsReadAsItWasEntered) {
  HeldPage page = page_for(4);
  page.put(record("orders"));
  const auto view = HeldPageView::open(page.fd());
  const auto held = view.value().held(kNow);
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(held[0].kind, 3);
  EXPECT_EQ(held[0].name, "orders");
  EXPECT_EQ(held[0].owner, "owner of orders");
  EXPECT_EQ(held[0].deadline, kNow + Millis(1));
}

TEST(HeldPageTest, WhatWasRemovedOrHasExpiredIsNotHeld) {
  HeldPage page = page_for(4);
  const auto released = page.put(record("released"));
  const auto renewed = page.put(record("renewed", kNow));
  page.put(record("expired", kNow));
  page.remove(released.value());
  EXPECT_TRUE(page.set_deadline(renewed.value(), kNow + Millis(1)));
  EXPECT_EQ(names(page), (std::multiset<std::string>{"renewed"}));
}

TEST(HeldPageTest, AFullPageTakesNoMoreAndASlotIsUsedAgain) {
  HeldPage page = page_for(2);
  const auto first = page.put(record("a"));
  EXPECT_TRUE(page.put(record("b")).has_value());
  EXPECT_FALSE(page.put(record("c")).has_value());
  page.remove(first.value());
  const auto last = page.put(record("d"));
  EXPECT_EQ(HeldPage::slot_of(last.value()), HeldPage::slot_of(first.value()));
  EXPECT_EQ(names(page), (std::multiset<std::string>{"b", "d"}));
}

TEST(HeldPageTest, WhatIsDoneToARemovedRecordDoesNotTouchTheNextOneInItsSlot) {
  HeldPage page = page_for(1);
  const auto first = page.put(record("first"));
  page.remove(first.value());
  EXPECT_FALSE(page.set_deadline(first.value(), kNow + Millis(1)));
  EXPECT_EQ(names(page).size(), 0U);
  page.put(record("next"));
  EXPECT_FALSE(page.set_deadline(first.value(), kNow));
  page.remove(first.value());
  EXPECT_EQ(names(page), (std::multiset<std::string>{"next"}));
  EXPECT_TRUE(page.full());
}

TEST(HeldPageTest, SlotsOfRecordsThatAreOverAreUsedAgain) {
  HeldPage page = page_for(2);
  page.put(record("over", kNow));
  page.put(record("held"));
  EXPECT_TRUE(page.full());
  page.reclaim(kNow);
  EXPECT_TRUE(page.put(record("next")).has_value());
  page.reclaim(kNow);
  EXPECT_FALSE(page.put(record("one more")).has_value());
  EXPECT_EQ(names(page), (std::multiset<std::string>{"held", "next"}));
}

TEST(HeldPageTest, ALongNameIsNotGuarded) {
  HeldPage page = page_for(2);
  const std::string longest(HeldPage::kLongest - 1, 'n');
  EXPECT_FALSE(page.put(HeldRecord{0, longest + "n", "o", kNow + Millis(1)}).has_value());
  EXPECT_TRUE(page.put(HeldRecord{0, longest, "o", kNow + Millis(1)}).has_value());
  EXPECT_EQ(names(page), (std::multiset<std::string>{longest}));
}

TEST(HeldPageTest, AHalfWrittenRecordIsIgnoredUntilItIsWhole) {
  HeldPage page = page_for(2);
  const auto id = page.put(record("whole"));
  PageRecord* record = raw(page, id.value());
  {
    const PageRecord::Writing writing(*record);
    EXPECT_EQ(names(page).size(), 0U);
    record->bytes[0] = 'W';
    EXPECT_EQ(names(page).size(), 0U);
  }
  EXPECT_EQ(names(page), (std::multiset<std::string>{"Whole"}));
}

TEST(HeldPageTest, SizesThatMakeNoSenseAreIgnored) {
  HeldPage page = page_for(2);
  const auto id = page.put(record("whole"));
  raw(page, id.value())->name_size = HeldPage::kLongest;
  EXPECT_EQ(names(page).size(), 0U);
  raw(page, id.value())->name_size = 0;
  EXPECT_EQ(names(page).size(), 0U);
}

TEST(HeldPageTest, AnotherMemoryIsNoPage) {
  const int fd = memfd_create("other", MFD_CLOEXEC);
  EXPECT_FALSE(HeldPageView::open(fd).ok());
  ASSERT_EQ(ftruncate(fd, 8192), 0);
  EXPECT_FALSE(HeldPageView::open(fd).ok());
  close(fd);
}

TEST(HeldPageTest, SettingsAreTheLatest) {
  HeldPage page = page_for(1);
  const auto view = HeldPageView::open(page.fd());
  EXPECT_EQ(view.value().settings(), "");
  const std::string longest(HeldPage::kLongestSettings, 'a');
  for (const std::string& text : {std::string("first"), longest, std::string("third")}) {
    EXPECT_TRUE(page.set_settings(text));
    EXPECT_EQ(view.value().settings(), text);
  }
  EXPECT_FALSE(page.set_settings(longest + 'a'));
  EXPECT_EQ(view.value().settings(), "");
}

TEST(HeldPageTest, AClosedClientSaysSo) {
  HeldPage page = page_for(1);
  const auto view = HeldPageView::open(page.fd());
  EXPECT_FALSE(view.value().closed());
  page.set_closed();
  EXPECT_TRUE(view.value().closed());
}

// Settings of one letter, whose number follows from the letter.
std::string settings(std::size_t number) {
  const std::size_t letter = number % 26;
  return std::string(3000 + letter, static_cast<char>('a' + letter));
}

// Enters settings, and enters and removes holds whose owner follows from the name, until it is
// killed. The page's descriptor has the same number in the parent's `notified`.
[[noreturn]] void write_on(int notified) {
  HeldPage page = page_for(3);
  const int fd = page.fd();
  if (write(notified, &fd, sizeof(fd)) != sizeof(fd)) _exit(1);
  for (std::size_t number = 0;; ++number) {
    page.set_settings(settings(number));
    const auto first = page.put(record(std::string(1 + number % 40, 'a')));
    const auto other = page.put(record(std::to_string(number)));
    page.remove(first.value());
    page.remove(other.value());
  }
}

TEST(HeldPageTest, AWriterThatIsKilledAtAnyInstantLeavesWholeRecordsAndSettings) {
  std::size_t seen = 0;
  for (int round = 0; round < 200; ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) write_on(ends[1]);
    int fd = -1;
    ASSERT_EQ(read(ends[0], &fd, sizeof(fd)), static_cast<ssize_t>(sizeof(fd)));
    const std::string path = "/proc/" + std::to_string(child) + "/fd/" + std::to_string(fd);
    fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    const auto view = HeldPageView::open(fd);
    ASSERT_TRUE(view.ok()) << path;
    for (int waited = 0; waited < round; ++waited) {
      (void)view.value().held(kNow);
      // Where there is one processor, the writer gets it; on a busy machine all others, too.
      if (waited % 16 == 0) sched_yield();
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (const HeldRecord& one : view.value().held(kNow)) {
      EXPECT_EQ(one.owner, "owner of " + one.name);
      ++seen;
    }
    const std::string text = view.value().settings();
    if (!text.empty()) {
      EXPECT_EQ(text, settings(static_cast<std::size_t>(text[0] - 'a')));
    }
    for (const int end : {ends[0], ends[1], fd}) close(end);
  }
  EXPECT_GT(seen, 0U);
}

TEST(HeldPageTest, AChildOfForkDoesNotInheritTheMemory) {
  HeldPage page = page_for(1);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    page.put(record("orders"));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(names(page).size(), 0U);
}

}  // namespace
}  // namespace holdfast::guard
