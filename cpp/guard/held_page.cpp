#include "guard/held_page.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "guard/page_layout.h"

namespace holdfast::guard {

namespace {

std::size_t bytes_for(std::uint32_t capacity) {
  return sizeof(PageLayout) + capacity * sizeof(PageRecord);
}

PageRecord& record_of(PageLayout* layout, HeldPage::Slot slot) {
  return reinterpret_cast<PageRecord*>(layout + 1)[slot];
}

const PageRecord& record_of(const PageLayout* layout, HeldPage::Slot slot) {
  return reinterpret_cast<const PageRecord*>(layout + 1)[slot];
}

Status failed(const char* what) {
  return Status::invalid(std::string("the page of holds cannot be made: ") + what + ": " +
                         std::strerror(errno));
}

// Nullopt: it is free, half written, or makes no sense.
std::optional<HeldRecord> read(const PageRecord& from) {
  const std::uint32_t before = from.sequence.load(std::memory_order_acquire);
  HeldRecord record;
  record.deadline = TimePoint(Duration(from.deadline.load(std::memory_order_relaxed)));
  record.kind = from.kind;
  const std::size_t name = from.name_size;
  const std::size_t owner = from.owner_size;
  if (before % 2 != 0 || name == 0 || name + owner > HeldPage::kLongest) return std::nullopt;
  record.name.assign(from.bytes.data(), name);
  record.owner.assign(from.bytes.data() + name, owner);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (from.sequence.load(std::memory_order_relaxed) != before) return std::nullopt;
  return record;
}

}  // namespace

Result<HeldPage> HeldPage::make(std::uint32_t capacity) {
  const int fd = memfd_create("holdfast-held", MFD_CLOEXEC);
  if (fd < 0) return failed("memfd_create");
  const std::size_t size = bytes_for(capacity);
  void* memory = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(size)) == 0) {
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (memory == MAP_FAILED || madvise(memory, size, MADV_DONTFORK) != 0) {
    const Status status = failed("mmap");
    close(fd);
    return status;
  }
  auto* layout = new (memory) PageLayout;
  layout->capacity = capacity;
  return HeldPage(fd, layout, capacity);
}

HeldPage::HeldPage(int fd, PageLayout* layout, std::uint32_t capacity)
    : fd_(fd), layout_(layout), capacity_(capacity) {
  free_.reserve(capacity);
  for (Slot slot = capacity; slot > 0; --slot) free_.push_back(slot - 1);
}

HeldPage::HeldPage(HeldPage&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      layout_(std::exchange(other.layout_, nullptr)),
      capacity_(other.capacity_),
      free_(std::move(other.free_)) {}

HeldPage::~HeldPage() {
  if (layout_ == nullptr) return;
  munmap(layout_, bytes_for(capacity_));
  close(fd_);
}

std::optional<HeldPage::Slot> HeldPage::put(const HeldRecord& record) {
  const std::size_t name = record.name.size();
  const std::size_t owner = record.owner.size();
  if (free_.empty() || name == 0 || name + owner > kLongest) return std::nullopt;
  const Slot slot = free_.back();
  free_.pop_back();
  PageRecord& into = record_of(layout_, slot);
  const PageRecord::Writing writing(into);
  into.kind = record.kind;
  into.name_size = static_cast<std::uint16_t>(name);
  into.owner_size = static_cast<std::uint16_t>(owner);
  std::copy(record.name.begin(), record.name.end(), into.bytes.begin());
  std::copy(record.owner.begin(), record.owner.end(),
            into.bytes.begin() + static_cast<std::ptrdiff_t>(name));
  set_deadline(slot, record.deadline);
  return slot;
}

void HeldPage::set_deadline(Slot slot, TimePoint deadline) {
  record_of(layout_, slot)
      .deadline.store(deadline.time_since_epoch().count(), std::memory_order_relaxed);
}

void HeldPage::remove(Slot slot) {
  set_deadline(slot, TimePoint{});
  free_.push_back(slot);
}

void HeldPage::set_connection(std::size_t place, std::int64_t id) {
  if (place < kConnections) layout_->connections[place].store(id, std::memory_order_relaxed);
}

Result<HeldPageView> HeldPageView::open(int fd) {
  struct stat found {};
  if (fstat(fd, &found) != 0) return failed("fstat");
  const auto size = static_cast<std::size_t>(found.st_size);
  if (size < sizeof(PageLayout)) return Status::invalid("the page of holds is too short");
  void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return failed("mmap");
  const auto* layout = static_cast<const PageLayout*>(memory);
  if (layout->version != PageLayout::kVersion || bytes_for(layout->capacity) != size) {
    munmap(memory, size);
    return Status::invalid("the page of holds is of another version");
  }
  return HeldPageView(layout);
}

HeldPageView::HeldPageView(HeldPageView&& other) noexcept
    : layout_(std::exchange(other.layout_, nullptr)) {}

HeldPageView::~HeldPageView() {
  if (layout_ == nullptr) return;
  munmap(const_cast<PageLayout*>(layout_), bytes_for(layout_->capacity));
}

std::vector<HeldRecord> HeldPageView::held(TimePoint now) const {
  std::vector<HeldRecord> all;
  for (HeldPage::Slot slot = 0; slot < layout_->capacity; ++slot) {
    std::optional<HeldRecord> record = read(record_of(layout_, slot));
    if (record && record->deadline > now) all.push_back(std::move(*record));
  }
  return all;
}

std::vector<std::int64_t> HeldPageView::connections() const {
  std::vector<std::int64_t> all;
  for (const auto& place : layout_->connections) {
    const std::int64_t id = place.load(std::memory_order_relaxed);
    if (id > 0) all.push_back(id);
  }
  return all;
}

}  // namespace holdfast::guard
