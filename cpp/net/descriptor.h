#pragma once

#include <cstdint>

namespace holdfast::net {

// A number that is unique to the Descriptor which has `fd` open now; 0 where there is none.
// Thread-safe.
std::uint64_t serial_of(int fd);

// Owns a file descriptor and closes it. Each is entered in a lock-free table of the descriptors
// that a fork()ed child inherits (see close_inherited_sockets()); its serial distinguishes a
// descriptor from a later one of the same number.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd);  // takes ownership; a negative one means none
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }

  // The number; -1 when there is none, or when close_inherited_sockets() has closed it: so a child
  // of fork() can never use its parent's descriptors.
  int get() const { return serial_ == 0 || serial_of(fd_) == serial_ ? fd_ : -1; }
  bool open() const { return get() >= 0; }

  // Closes it, unless close_inherited_sockets() has done so.
  void reset();

 private:
  int fd_ = -1;
  std::uint64_t serial_ = 0;
};

}  // namespace holdfast::net
