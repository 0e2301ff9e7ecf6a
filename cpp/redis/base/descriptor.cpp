#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <new>
#include <utility>

#include "redis/base/process.h"

namespace holdfast {
namespace {

// The serials of open descriptors, by number. A block is made when the first number in it is used,
// and stays: a child may read the table at any moment. The first block needs no allocation.
constexpr std::size_t kBlockSize = 1024;
constexpr std::size_t kBlocks = 1024;
using Serial = std::atomic<std::uint64_t>;
using Block = std::array<Serial, kBlockSize>;
static_assert(Serial::is_always_lock_free, "a child of fork() must not meet a lock");

Block first_block{};
std::array<std::atomic<Block*>, kBlocks> blocks{};
Serial last_serial{0};

Block* block_of(std::size_t index) { return index == 0 ? &first_block : blocks[index].load(); }

// The place of the serial of `fd`; nullptr if its block is not in use.
Serial* find(int fd) {
  const auto number = static_cast<std::size_t>(fd);
  if (fd < 0 || number >= kBlocks * kBlockSize) return nullptr;
  Block* const block = block_of(number / kBlockSize);
  return block == nullptr ? nullptr : &(*block)[number % kBlockSize];
}

int moved_above_standard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int above = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno == EINVAL ? EMFILE : errno;  // where the process may have no such number
  ::close(fd);
  errno = error;
  return above;
}

// In a child of fork(): async-signal-safe.
void close_inherited() {
  for (std::size_t index = 0; index < kBlocks; ++index) {
    Block* const block = block_of(index);
    if (block == nullptr) continue;
    for (std::size_t i = 0; i < kBlockSize; ++i) {
      if ((*block)[i].exchange(0) != 0) ::close(static_cast<int>(index * kBlockSize + i));
    }
  }
}

// At the library's load: before any is open.
[[maybe_unused]] const bool g_registered = (call_in_child(close_inherited), true);

}  // namespace

Descriptor::Descriptor(int fd) : fd_(moved_above_standard(fd)) {
  if (fd_ < 0) return;
  const auto number = static_cast<std::size_t>(fd_);
  if (number < kBlocks * kBlockSize && find(fd_) == nullptr) {
    auto* const fresh = new (std::nothrow) Block{};
    Block* none = nullptr;
    if (!blocks[number / kBlockSize].compare_exchange_strong(none, fresh)) delete fresh;
  }
  Serial* const entry = find(fd_);
  if (entry == nullptr) return;  // a number beyond the table: a child inherits it until it execs
  serial_ = ++last_serial;
  entry->store(serial_);
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), serial_(std::exchange(other.serial_, 0)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(serial_, other.serial_);
  return *this;
}

void Descriptor::reset() {
  if (fd_ < 0) return;
  Serial* const entry = find(fd_);
  std::uint64_t mine = serial_;
  // Removed from the table before the close: after it the number may belong to another descriptor.
  if (entry == nullptr || serial_ == 0 || entry->compare_exchange_strong(mine, 0)) ::close(fd_);
  fd_ = -1;
  serial_ = 0;
}

std::uint64_t serial_of(int fd) {
  const Serial* const entry = find(fd);
  return entry == nullptr ? 0 : entry->load();
}

}  // namespace holdfast
