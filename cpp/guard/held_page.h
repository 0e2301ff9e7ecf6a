#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace holdfast::guard {

struct PageLayout;

// One hold, as the guard needs it to release it.
struct HeldRecord {
  static constexpr std::uint8_t kPermit = 0xff;

  std::uint8_t kind = 0;  // the index in sync::kLockKinds, or kPermit
  std::string name;       // the lock's, prefix included
  std::string owner;      // the owner's field, "uuid:number"; of a permit its id
  TimePoint deadline{};   // until when the lease may last, by the clock of this machine
};

// Memory that a program shares with its guard, with what it holds: a memfd of fixed size. At any
// instant, also in the middle of a store, every record in it is whole, or is known not to be: a
// sequence number is odd while the record is written. No system call but for making it; not
// thread-safe. A child of fork() does not inherit the memory.
class HeldPage {
 public:
  static constexpr std::size_t kConnections = 16;
  // Of a name and its owner together; what is longer is not guarded.
  static constexpr std::size_t kLongest = 232;

  using Slot = std::uint32_t;

  // For `capacity` holds. kInvalid: this system has no memfd, or no memory.
  static Result<HeldPage> make(std::uint32_t capacity);

  HeldPage(HeldPage&& other) noexcept;
  HeldPage& operator=(HeldPage&&) = delete;
  ~HeldPage();

  // To be inherited by the guard.
  int fd() const { return fd_; }

  // Enters a hold; nullopt: it is too long, or the page is full, and it is not guarded.
  std::optional<Slot> put(const HeldRecord& record);
  // After a renewal or an extension.
  void set_deadline(Slot slot, TimePoint deadline);
  // Before the hold is released, handed over or detached.
  void remove(Slot slot);

  // The server's id of a connection of the program, to be closed before the releases; 0: none.
  void set_connection(std::size_t place, std::int64_t id);

 private:
  HeldPage(int fd, PageLayout* layout, std::uint32_t capacity);

  int fd_;
  PageLayout* layout_;
  const std::uint32_t capacity_;
  std::vector<Slot> free_;
};

// The same memory as the guard sees it: read-only.
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
  std::vector<std::int64_t> connections() const;

 private:
  explicit HeldPageView(const PageLayout* layout) : layout_(layout) {}

  const PageLayout* layout_;
};

}  // namespace holdfast::guard
