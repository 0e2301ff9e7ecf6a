#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/base/clock.h"
#include "redis/base/process.h"
#include "redis/base/status.h"

namespace holdfast::guard {

struct PageLayout;

// One hold, as the guard needs it to release it.
struct HeldRecord {
  static constexpr std::uint8_t kPermit = 0xff;

  // The index in sync::kLockKinds; of a permit kPermit less that in sync::kPermitKinds.
  std::uint8_t kind = 0;
  std::string name;      // the lock's, prefix included
  std::string owner;     // the owner's field, "uuid:number"; of a permit its id
  TimePoint deadline{};  // until when the lease may last, by the clock of this machine
};

// A HeldRecord without a copy of the texts.
struct HeldRecordView {
  HeldRecordView(const HeldRecord& record)  // NOLINT: it is the same
      : kind(record.kind), name(record.name), owner(record.owner), deadline(record.deadline) {}
  HeldRecordView(std::uint8_t a_kind, std::string_view a_name, std::string_view an_owner,
                 TimePoint until)
      : kind(a_kind), name(a_name), owner(an_owner), deadline(until) {}

  std::uint8_t kind;
  std::string_view name;
  std::string_view owner;
  TimePoint deadline;
};

// Memory that a program shares with its guard, with what it holds: a memfd of fixed size. At any
// instant, also in the middle of a store, every record in it is whole, or is known not to be: a
// sequence number is odd while the record is written. No system call but for making it. Not
// thread-safe, but for set_settings() and set_closed(), which one thread at a time may call beside
// the others. A child of fork() does not inherit the memory and must call nothing.
class HeldPage {
 public:
  // The bytes of a name and its owner together; what is longer is not guarded.
  static constexpr std::size_t kLongest = 232;
  static constexpr std::size_t kLongestSettings = 512 * 1024;

  // A record, from put() until it is removed or reclaimed; never 0. Later calls have no effect.
  using Id = std::uint64_t;
  using Slot = std::uint32_t;
  static Slot slot_of(Id record) { return static_cast<Slot>(record); }

  // For `capacity` holds. kInvalid: this system has no memfd, or no memory.
  static Result<HeldPage> make(std::uint32_t capacity);

  HeldPage(HeldPage&& other) noexcept;
  HeldPage& operator=(HeldPage&&) = delete;
  ~HeldPage();

  // To be inherited by the guard.
  int fd() const { return fd_.get(); }

  // Enters a hold; nullopt: it is too long, or the page is full, and it is not guarded.
  std::optional<Id> put(const HeldRecordView& record);
  // After a renewal or an extension. False: it was removed or reclaimed.
  bool set_deadline(Id id, TimePoint deadline);
  // Once the hold is released, handed over or detached.
  void remove(Id id);
  // Takes back the slots of records whose deadline is over; reads the whole page.
  void reclaim(TimePoint now);
  // In a child of fork(), where the memory is not mapped: the destructor leaves it alone.
  void forget() { layout_ = nullptr; }
  bool full() const { return free_.empty() && next_ == capacity_; }

  // By which the guard reaches the servers: see settings.h. At any instant the guard finds the
  // latest text as a whole. False: it is too long, and there is none from now on.
  bool set_settings(std::string_view text);
  // The client has been closed: nothing of it is to be released.
  void set_closed();

 private:
  HeldPage(Descriptor fd, PageLayout* layout, std::uint32_t capacity);

  Descriptor fd_;
  PageLayout* layout_;
  const std::uint32_t capacity_;
  Slot next_ = 0;  // that was never used
  std::vector<Slot> free_;
};

// The page's memory as the guard sees it: read-only.
class HeldPageView {
 public:
  // kInvalid: the descriptor is not of a HeldPage of this version.
  static Result<HeldPageView> open(int fd);

  HeldPageView(HeldPageView&& other) noexcept;
  HeldPageView& operator=(HeldPageView&&) = delete;
  ~HeldPageView();

  // The whole records whose deadline is later than `now`. What is half written, or makes no sense,
  // is left out.
  std::vector<HeldRecord> held(TimePoint now) const;
  // Empty: there are none.
  std::string settings() const;
  bool closed() const;

 private:
  HeldPageView(const PageLayout* layout, std::uint32_t capacity)
      : layout_(layout), capacity_(capacity) {}

  const PageLayout* layout_;
  std::uint32_t capacity_;  // as it was when the page was opened: the memory is the program's
};

// The page's memory, shared by two processes of one build: a head, and the records behind it. What
// has no initializer is not touched before it is used: the system gives it as zeros.

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

struct PageSettings {
  std::uint32_t size;
  std::array<char, HeldPage::kLongestSettings> bytes;
};

struct PageLayout {
  static constexpr std::uint64_t kVersion = 0x686c64666173'0003;

  std::uint64_t version = kVersion;
  std::uint32_t capacity = 0;
  std::atomic<std::uint32_t> used{0};  // the records behind these have never been written
  std::atomic<std::uint32_t> closed{0};
  // How often the settings were written, by turns into one of the two: the other one stays whole.
  std::atomic<std::uint32_t> written{0};
  std::array<PageSettings, 2> settings;
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

}  // namespace holdfast::guard
