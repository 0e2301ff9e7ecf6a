#pragma once

#include <memory>
#include <utility>

#include "net/transport.h"

namespace holdfast::client {

// The stream that the engine's loop watches for its end while another thread reads it. The loop
// uses the descriptor until its next step, so the stream must not close before that. With the
// connection's lock held.
class StreamWatch {
 public:
  using Stream = std::shared_ptr<net::Transport>;

  // A step begins: the loop watches nothing, but uses the descriptor until the step ends.
  void begin_step() { left_ = std::exchange(watched_, nullptr); }
  void watch(const Stream& stream) { watched_ = stream; }
  bool watches() const { return watched_ != nullptr; }
  // Whether the loop uses a descriptor other than the one of `stream`, which a further step frees.
  bool uses_other(const Stream& stream) {
    if (left_ == stream) left_.reset();
    return left_ != nullptr;
  }

 private:
  Stream watched_;
  Stream left_;
};

// Whether the other end of a stream has closed it.
bool hung_up(const net::Transport& stream);

}  // namespace holdfast::client
