#include "redis/client/send_buffer.h"

namespace holdfast::client {

namespace {

// As much as the stream takes: `bytes` of it, and what it wants next.
net::IoResult write_all(net::Transport& stream, const std::string& bytes) {
  net::IoResult all;
  while (all.bytes < bytes.size() && all.io == net::Io::kDone) {
    const net::IoResult piece = stream.write(bytes.data() + all.bytes, bytes.size() - all.bytes);
    all.io = piece.io;
    all.bytes += piece.bytes;
  }
  return all;
}

}  // namespace

void SendBuffer::close() {
  stream_.reset();
  out_.clear();
  blocked_ = failed_ = false;
}

bool SendBuffer::flush(const WriteTurn& /*turn*/, RequestQueue& line, Mutex& mutex) {
  bool stuck = false;
  while (stream_ && !blocked_ && !failed_ && (line.has_unsent() || !out_.empty())) {
    stuck = unasked_input(line);
    if (stuck) break;
    const int sent = line.send(out_, clock_.now());
    if (out_.empty()) break;
    stats_.add(Stats::Counter::kCommands, sent);
    writing_.swap(out_);
    const std::shared_ptr<net::Transport> stream = stream_;
    net::IoResult result;
    {
      const MutexUnlock unlocked(mutex);
      result = write_all(*stream, writing_);
    }
    if (stream == stream_ && result.io == net::Io::kDone) {
      line.written();
    } else if (stream == stream_) {
      out_.insert(0, writing_, result.bytes);
      (result.io == net::Io::kFailed ? failed_ : blocked_) = stuck = true;
    }
    writing_.clear();
  }
  return !stuck;
}

void SendBuffer::keep_direct(const WriteTurn& /*turn*/, Written written) {
  out_.assign(direct_, written.bytes);
  blocked_ = written.io == net::Io::kWantWrite;
  failed_ = written.io == net::Io::kFailed;
}

}  // namespace holdfast::client
