#pragma once

#include <cstdint>

namespace holdfast {

// A number that is unique to the Descriptor which has `fd` open now; 0 where there is none.
// Thread-safe.
std::uint64_t serial_of(int fd);

// Owns a file descriptor and closes it. Its number is 3 or more: 0, 1 and 2 are the program's, also
// where it has closed them. A child of fork() closes the descriptors that it inherits before
// anything else of the library runs there, and never writes to them; their Descriptors may be
// destroyed in the child, which closes nothing more. For that each is entered in a lock-free table.
// Its serial there distinguishes a descriptor from a later one of the same number.
//
// All that the engine and the guard open is a Descriptor from the call on that opens it:
// `Descriptor(::socket(…))`. The lint step `descriptors` checks that.
class Descriptor {
 public:
  Descriptor() = default;
  // Takes ownership of what a call has just opened, and moves it if its number is the program's;
  // until then, for two system calls, what the program writes to that number arrives there. A
  // negative one means none; so does one that cannot be moved, with errno.
  explicit Descriptor(int fd);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }

  // The number; -1 when there is none, and in a child of fork() of its parent's.
  int get() const { return serial_ == 0 || serial_of(fd_) == serial_ ? fd_ : -1; }
  bool open() const { return get() >= 0; }

  // Closes it, unless this is a child of fork(), which has done so.
  void reset();

 private:
  int fd_ = -1;
  std::uint64_t serial_ = 0;
};

}  // namespace holdfast
