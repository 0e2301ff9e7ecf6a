#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "redis/client/connection.h"
#include "redis/client/send_buffer.h"
#include "redis/resp/reply.h"

namespace holdfast::client {

// One command of a thread that has the stream exclusively: it has both turns, writes the command at
// once, and reads the reply by itself, behind a few unread replies. On the thread's stack. What it
// cannot finish goes in line, where it would stand if it had been submitted.
//
// A second way of reading has to pay: with all commands in line a pair takes 3 % longer over TCP
// where the thread sleeps and 8 % where it looks before it sleeps, 4 and 20 % over a unix socket,
// and 6 to 18 % more CPU (the medians of 30 to 40 runs of 3,000 pairs in turns, Redis 7.0, a
// virtual machine of 2 CPUs).
class DirectExchange {
 public:
  struct DirectReply {
    resp::PlainReply reply;
    Sent sent{};
  };

  DirectExchange(Connection& connection, Parker& parker)
      : pipe_(connection.pipe_), reader_(connection.reader_), parker_(parker) {}
  ~DirectExchange() {
    if (read_turn_) end(nullptr);
  }
  DirectExchange(const DirectExchange&) = delete;
  DirectExchange& operator=(const DirectExchange&) = delete;

  // Takes the turns, if no other thread uses the connection, and nothing but the exchange is to be
  // done: what other threads submit from now on stands behind it. exchange() and post() begin where
  // that has not been done.
  bool begin(Request& request) HOLDFAST_EXCLUDES(pipe_.mutex);

  // Sends the command and reads its reply at once, behind a few unread replies, with readings that
  // wait for a moment. kNotBegun: nothing was done, and Connection::submit() is the way; another
  // thread uses the connection, or there is no stream. kInLine: it is as after submit(), and its
  // reply, unless it has come, is to be waited for in Connection::serve().
  enum class Exchanged { kAnswered, kInLine, kNotBegun };
  Exchanged exchange(const RequestPtr& request, DirectReply& answer) HOLDFAST_EXCLUDES(pipe_.mutex);

  // submit() for a command whose reply may stay unread (Request::deferred): sent at once.
  // kWritten: written() is not called for it, unless it is sent again. kInLine: as after submit().
  enum class Posted { kWritten, kInLine, kNotBegun };
  Posted post(const RequestPtr& request) HOLDFAST_EXCLUDES(pipe_.mutex);

 private:
  // The number of replies that a thread reads before the one to its command.
  static constexpr std::size_t kMostUnread = 4;
  // The unread replies, that of what went ahead, and its own.
  using Replies = std::array<resp::PlainReply, kMostUnread + 2>;

  // Gives the turns back.
  void end(Parker* waiter) HOLDFAST_EXCLUDES(pipe_.mutex);

  bool write(const Request& request);
  bool read_all(Replies& replies);
  bool deliver_unread(const Replies& replies) HOLDFAST_EXCLUDES(pipe_.mutex);
  bool has_stream() const HOLDFAST_REQUIRES(pipe_.mutex) {
    return pipe_.send.stream().get() == stream_;
  }
  // Else the connection was moved to another server meanwhile, and what was read is no answer.
  bool stays() const HOLDFAST_EXCLUDES(pipe_.mutex) {
    const MutexLock lock(pipe_.mutex);
    return has_stream();
  }
  void put_in_line(InFlightRequest unanswered) HOLDFAST_EXCLUDES(pipe_.mutex);
  Sent sent() const { return {begun_, 1, number_}; }

  Pipeline& pipe_;
  StreamReader& reader_;
  Parker& parker_;
  std::optional<ReadTurn> read_turn_;
  std::optional<WriteTurn> write_turn_;
  net::Transport* stream_ = nullptr;  // closes only by the thread with the ReadTurn
  TimePoint begun_{};
  std::uint64_t number_ = 0;                             // the stream's
  resp::ReplyKinds expected_ = resp::ReplyKinds::any();  // the reply's kinds
  std::size_t unread_ = 0;  // replies that come before it, that of what went ahead among them
  SendBuffer::Written written_{};
  net::Io got_ = net::Io::kDone;  // by the last reading
  Status failure_;                // why, with kFailed
  std::size_t size_ = 0;          // bytes that were read
  std::array<char, 512> bytes_;   // written before it is read
};

}  // namespace holdfast::client
