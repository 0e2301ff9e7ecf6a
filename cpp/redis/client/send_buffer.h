#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/base/stats.h"
#include "redis/client/request_queue.h"
#include "redis/net/transport.h"

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

// The writing half of a Connection: the stream while it is ready, and the commands that are encoded
// and not yet written. All functions are called with the connection's lock held, except for the
// static ones.
class SendBuffer {
 public:
  SendBuffer(const Clock& clock, Stats& stats) : clock_(clock), stats_(stats) {}

  // Nothing, while another thread has the turn.
  std::optional<WriteTurn> take() {
    if (taken_) return std::nullopt;
    return WriteTurn(*this);
  }

  void open(std::shared_ptr<net::Transport> stream) { stream_ = std::move(stream); }
  // The stream is over: what is encoded is dropped, and encoded anew for the next stream.
  void close();

  const std::shared_ptr<net::Transport>& stream() const { return stream_; }  // null: not ready
  bool blocked() const { return blocked_; }  // the socket is full: the reader waits for room
  bool failed() const { return failed_; }
  void unblock() { blocked_ = false; }
  // All that was encoded is written, and no thread is about to write.
  bool at_rest() const { return stream_ && out_.empty() && !taken_; }
  // It is at rest, and there is room for a command.
  bool healthy() const { return at_rest() && !blocked_ && !failed_; }
  // Something has come although no reply is to come: it is read before a command goes out, whose
  // reply it would be taken for.
  bool unasked_input(const RequestQueue& line) const {
    return !line.awaits_replies() && stream_->has_input();
  }

  // Encodes and writes what stands in line, without the lock while it writes. False: the reader has
  // to go on with it, when there is room, or when it has read what came unasked.
  bool flush(const WriteTurn& turn, RequestQueue& line, Mutex& mutex) HOLDFAST_REQUIRES(mutex);

  // A direct command, which is not in line, without the lock: the buffer to encode it into, which
  // still holds the previous one (clear it first), and its writing, which is true if all of it is
  // written.
  static std::string& direct(const WriteTurn& turn) { return turn.half_->direct_; }
  struct Written {
    net::Io io = net::Io::kDone;
    std::size_t bytes = 0;
  };
  static bool write_direct(const WriteTurn& turn, net::Transport& stream, Written& written) {
    const std::string& command = turn.half_->direct_;
    const net::IoResult result = stream.write(command.data(), command.size());
    written = {result.io, result.bytes};
    return result.io == net::Io::kDone && result.bytes == command.size();
  }
  // It stands in line now: what the stream did not take of it is the first to be written.
  void keep_direct(const WriteTurn& turn, Written written);

 private:
  friend WriteTurn;

  const Clock& clock_;
  Stats& stats_;
  bool taken_ = false;
  bool blocked_ = false;
  bool failed_ = false;
  std::shared_ptr<net::Transport> stream_;
  std::string out_;      // encoded, not yet written
  std::string writing_;  // belongs to the thread that has the turn
  std::string direct_;   // so does this
};

}  // namespace holdfast::client
