#include "guard/held_page.h"

#include <fcntl.h>
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

#include "redis/base/process.h"

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
  return Status::invalid("the page of holds cannot be made: " + limit_text(what, errno));
}

constexpr unsigned kSlotBits = 32;

// The record is there still.
bool is(const PageRecord& record, HeldPage::Id id) {
  return record.sequence.load(std::memory_order_relaxed) == id >> kSlotBits &&
         record.deadline.load(std::memory_order_relaxed) != 0;
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
  Descriptor fd(memfd_create("holdfast-held", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.open()) return failed("memfd_create");
  const std::size_t size = bytes_for(capacity);
  if (ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return failed("ftruncate");
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return failed("mmap");
  if (madvise(memory, size, MADV_DONTFORK) != 0) {
    const Status status = failed("madvise");
    munmap(memory, size);
    return status;
  }
  // A page of another size would end its reader.
  (void)fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  auto* layout = new (memory) PageLayout;
  layout->capacity = capacity;
  return HeldPage(std::move(fd), layout, capacity);
}

HeldPage::HeldPage(Descriptor fd, PageLayout* layout, std::uint32_t capacity)
    : fd_(std::move(fd)), layout_(layout), capacity_(capacity) {}

HeldPage::HeldPage(HeldPage&& other) noexcept
    : fd_(std::move(other.fd_)),
      layout_(std::exchange(other.layout_, nullptr)),
      capacity_(other.capacity_),
      next_(other.next_),
      free_(std::move(other.free_)) {}

HeldPage::~HeldPage() {
  if (layout_ == nullptr) return;
  munmap(layout_, bytes_for(capacity_));
}

std::optional<HeldPage::Id> HeldPage::put(const HeldRecordView& record) {
  const std::size_t name = record.name.size();
  const std::size_t owner = record.owner.size();
  if (full() || name == 0 || name + owner > kLongest) return std::nullopt;
  Slot slot = next_;
  if (free_.empty()) {
    layout_->used.store(++next_, std::memory_order_release);
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  PageRecord& into = record_of(layout_, slot);
  const PageRecord::Writing writing(into);
  into.kind = record.kind;
  into.name_size = static_cast<std::uint16_t>(name);
  into.owner_size = static_cast<std::uint16_t>(owner);
  std::copy(record.name.begin(), record.name.end(), into.bytes.begin());
  std::copy(record.owner.begin(), record.owner.end(),
            into.bytes.begin() + static_cast<std::ptrdiff_t>(name));
  into.deadline.store(record.deadline.time_since_epoch().count(), std::memory_order_relaxed);
  const std::uint32_t odd = into.sequence.load(std::memory_order_relaxed);
  return static_cast<Id>(odd + 1) << kSlotBits | slot;
}

bool HeldPage::set_deadline(Id id, TimePoint deadline) {
  PageRecord& record = record_of(layout_, slot_of(id));
  if (!is(record, id)) return false;
  record.deadline.store(deadline.time_since_epoch().count(), std::memory_order_relaxed);
  return true;
}

void HeldPage::remove(Id id) {
  PageRecord& record = record_of(layout_, slot_of(id));
  if (!is(record, id)) return;
  record.deadline.store(0, std::memory_order_relaxed);
  free_.push_back(slot_of(id));
}

void HeldPage::reclaim(TimePoint now) {
  for (Slot slot = 0; slot < next_; ++slot) {
    PageRecord& record = record_of(layout_, slot);
    const std::int64_t deadline = record.deadline.load(std::memory_order_relaxed);
    if (deadline == 0 || deadline > now.time_since_epoch().count()) continue;
    record.deadline.store(0, std::memory_order_relaxed);
    free_.push_back(slot);
  }
}

bool HeldPage::set_settings(std::string_view text) {
  const bool fits = text.size() <= kLongestSettings;
  const std::uint32_t number = layout_->written.load(std::memory_order_relaxed) + 1;
  PageSettings& into = layout_->settings[number % 2];
  into.size = fits ? static_cast<std::uint32_t>(text.size()) : 0;
  if (fits) std::copy(text.begin(), text.end(), into.bytes.begin());
  layout_->written.store(number, std::memory_order_release);
  return fits;
}

void HeldPage::set_closed() { layout_->closed.store(1, std::memory_order_release); }

Result<HeldPageView> HeldPageView::open(int fd) {
  struct stat found {};
  if (fstat(fd, &found) != 0) return failed("fstat");
  const auto size = static_cast<std::size_t>(found.st_size);
  if (size < sizeof(PageLayout)) return Status::invalid("the page of holds is too short");
  void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return failed("mmap");
  const auto* layout = static_cast<const PageLayout*>(memory);
  const std::uint32_t capacity = layout->capacity;
  if (layout->version != PageLayout::kVersion || bytes_for(capacity) != size) {
    munmap(memory, size);
    return Status::invalid("the page of holds is of another version");
  }
  return HeldPageView(layout, capacity);
}

HeldPageView::HeldPageView(HeldPageView&& other) noexcept
    : layout_(std::exchange(other.layout_, nullptr)), capacity_(other.capacity_) {}

HeldPageView::~HeldPageView() {
  if (layout_ == nullptr) return;
  munmap(const_cast<PageLayout*>(layout_), bytes_for(capacity_));
}

std::vector<HeldRecord> HeldPageView::held(TimePoint now) const {
  std::vector<HeldRecord> all;
  const std::uint32_t used = std::min(layout_->used.load(std::memory_order_acquire), capacity_);
  for (HeldPage::Slot slot = 0; slot < used; ++slot) {
    std::optional<HeldRecord> record = read(record_of(layout_, slot));
    if (record && record->deadline > now) all.push_back(std::move(*record));
  }
  return all;
}

std::string HeldPageView::settings() const {
  const std::uint32_t number = layout_->written.load(std::memory_order_acquire);
  const PageSettings& from = layout_->settings[number % 2];
  const std::size_t size = from.size;
  return size <= HeldPage::kLongestSettings ? std::string(from.bytes.data(), size) : std::string();
}

bool HeldPageView::closed() const { return layout_->closed.load(std::memory_order_acquire) != 0; }

}  // namespace holdfast::guard
