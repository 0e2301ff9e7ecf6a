#include "locks/engine/event_queue.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace holdfast::engine {
namespace {

constexpr std::size_t kMost = EventQueue::kMostUnread;

EventQueue::Entry entry(std::size_t number) {
  Event event;
  event.name = std::to_string(number);
  return {"client", event};
}

TEST(EventQueueTest, AProgramThatReadsNoEventsKeepsTheLatestOnly) {
  EventQueue queue;
  for (std::size_t i = 0; i < kMost + 5; ++i) queue.post(entry(i));
  const std::uint64_t run = queue.begin();
  queue.post(entry(kMost + 5));
  EXPECT_EQ(queue.next(run)->event.name, "5");
  queue.stop();
  std::size_t read = 1;
  while (queue.next(run)) ++read;
  EXPECT_EQ(read, kMost + 1);
}

TEST(EventQueueTest, OfAProgramThatReadsNoneIsDropped) {
  EventQueue queue;
  const std::uint64_t run = queue.begin();
  for (std::size_t i = 0; i < 2 * kMost; ++i) queue.post(entry(i));
  queue.stop();
  std::size_t read = 0;
  while (queue.next(run)) ++read;
  EXPECT_EQ(read, 2 * kMost);
}

}  // namespace
}  // namespace holdfast::engine
