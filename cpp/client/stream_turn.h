#pragma once

#include <utility>

namespace holdfast::client {

// The right to use one half of a stream, which one thread has at a time: what writes to the stream
// takes a WriteTurn as an argument (see SendBuffer), what reads it a ReadTurn (see StreamReader).
// There are two because one thread writes while another one reads. Only `Half` makes turns, and it
// makes no second one while the first one exists, so a function without a turn cannot touch the
// half of another thread: it does not compile.
//
// A turn is taken, and destroyed, with the lock held that guards the half; its destruction gives it
// back. In between its thread uses the half without the lock.
template <typename Half>
class StreamTurn {
 public:
  StreamTurn(StreamTurn&& other) noexcept : half_(std::exchange(other.half_, nullptr)) {}
  ~StreamTurn() {
    if (half_ != nullptr) half_->taken_ = false;
  }
  StreamTurn(const StreamTurn&) = delete;
  StreamTurn& operator=(const StreamTurn&) = delete;
  StreamTurn& operator=(StreamTurn&&) = delete;

 private:
  friend Half;
  explicit StreamTurn(Half& half) : half_(&half) { half.taken_ = true; }

  Half* half_;
};

class SendBuffer;
using WriteTurn = StreamTurn<SendBuffer>;

class StreamReader;
using ReadTurn = StreamTurn<StreamReader>;

}  // namespace holdfast::client
