#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "guard/held_page.h"

namespace holdfast::guard {

// The page's memory, shared by two processes of one build: a head, and the records behind it.

struct PageRecord {
  // While it lives, the record is half written.
  class Writing {
   public:
    explicit Writing(PageRecord& record) : record_(record) {
      const std::uint32_t even = record.sequence.load(std::memory_order_relaxed);
      record.sequence.store(even + 1, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_release);
    }
    ~Writing() {
      const std::uint32_t odd = record_.sequence.load(std::memory_order_relaxed);
      record_.sequence.store(odd + 1, std::memory_order_release);
    }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

   private:
    PageRecord& record_;
  };

  std::atomic<std::uint32_t> sequence{0};  // odd: half written
  std::uint16_t name_size = 0;
  std::uint16_t owner_size = 0;
  std::atomic<std::int64_t> deadline{0};  // BootTime, ns; 0: the record is free
  std::uint8_t kind = 0;
  std::array<char, HeldPage::kLongest> bytes{};  // the name, and the owner behind it
};

struct PageLayout {
  static constexpr std::uint64_t kVersion = 0x686c64666173'0002;

  std::uint64_t version = kVersion;
  std::uint32_t capacity = 0;
  std::atomic<std::uint32_t> used{0};  // the records behind these have never been written
  std::array<std::atomic<std::int64_t>, HeldPage::kConnections> connections{};
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

}  // namespace holdfast::guard
