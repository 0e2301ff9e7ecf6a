#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "net/descriptor.h"

namespace holdfast::guard {

// This program's guard: a process that waits for this one's death. It is no child of this one, and
// ends by itself: at the program's death with its releases, or once this object is gone and all
// leases in the page are over. A child of fork() has no part in it.
class Guard {
 public:
  // Starts the executable at `path` with a page and the first settings (see Settings). kInvalid:
  // why it cannot run here: no pidfd, no such file, or what the guard has answered.
  static Result<Guard> start(const std::string& path, int page, const std::string& settings);

  // Other settings from now on. kInvalid: the guard has ended.
  Status send(const std::string& settings) const;

 private:
  explicit Guard(net::Descriptor socket) : socket_(std::move(socket)) {}
  Status await_answer() const;

  net::Descriptor socket_;
};

}  // namespace holdfast::guard
